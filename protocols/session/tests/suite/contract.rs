//! An endpoint keeps the contract of a core, although it borrows datagrams and so is no `Machine` itself.

use machine::{Machine, conformance};
use session::{Endpoint, Limits, PeerId, Received};
use units::{Duration, Instant};

use crate::common::{GATEWAY, MOBILE, World, buffer, hosts};

const SEED: u64 = 21;

/// An endpoint as a machine that owns its datagrams.
struct Owning {
    endpoint: Endpoint,
    peer: PeerId,
    /// Sealed and opened datagrams.
    outputs: Vec<String>,
}

#[derive(Debug, Clone)]
enum Input {
    Connect,
    Datagram(Vec<u8>),
    Seal(Vec<u8>),
    Leave,
}

impl Owning {
    fn new(host: usize) -> Self {
        let (endpoints, peers) = hosts(SEED, Limits::default());
        let endpoint = endpoints.into_iter().nth(host).expect("there are two");
        Self {
            endpoint,
            peer: peers[host],
            outputs: Vec::new(),
        }
    }
}

impl Machine for Owning {
    type Input = Input;
    type Output = String;

    fn handle_input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Connect => self.endpoint.connect(now, self.peer).expect("it initiates"),
            Input::Leave => self.endpoint.leave(now, self.peer).expect("it is known"),
            Input::Seal(payload) => {
                let mut datagram = buffer(&payload);
                let sealed = self.endpoint.seal(now, self.peer, &mut datagram);
                self.outputs.push(format!("{sealed:?} {datagram:?}"));
            }
            Input::Datagram(mut datagram) => {
                let received = match self.endpoint.handle_datagram(now, &mut datagram) {
                    Received::Data { plaintext, .. } => format!("{plaintext:?}"),
                    Received::Handshake(peer) | Received::Goodbye(peer) => format!("{peer:?}"),
                    Received::Reply(_) | Received::CookieReply => {
                        panic!("no load in a recorded run")
                    }
                    Received::Dropped(cause) => panic!("{cause:?} in a recorded run"),
                };
                self.outputs.push(received);
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<String> {
        let own = self.endpoint.poll_output();
        own.map(|output| format!("{output:?}"))
            .or_else(|| self.outputs.pop())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }
}

/// Returns what a host is given in a run of five minutes with data each second, a fade, and a goodbye at the end.
fn script(host: usize) -> Vec<(Duration, Input)> {
    let mut world = World::new(SEED);
    world.connect();
    let mut inputs = vec![(Instant::ZERO, Input::Connect)];
    inputs.retain(|_| host == MOBILE);
    for second in 0..300_u16 {
        world.run_for(Duration::from_secs(1));
        world.air.up = !(100..130).contains(&second);
        let payload = second.to_be_bytes();
        // The gateway has no keys before the mobile host has used them.
        for from in [MOBILE, GATEWAY] {
            let _ = world.send(from, &payload);
        }
        inputs.push((world.clock.now, Input::Seal(payload.to_vec())));
    }
    let arrived = world.arrived.iter().filter(|(_, to, _)| *to == host);
    inputs.extend(arrived.map(|(at, _, datagram)| (*at, Input::Datagram(datagram.clone()))));
    inputs.push((world.clock.now, Input::Leave));
    inputs.sort_by_key(|(at, _)| *at);
    let mut now = Instant::ZERO;
    let delayed = inputs.into_iter().map(|(at, input)| {
        let delay = at.since(std::mem::replace(&mut now, at));
        (delay, input)
    });
    delayed.collect()
}

#[test]
fn an_endpoint_conforms() {
    for host in [MOBILE, GATEWAY] {
        let script = script(host);
        assert!(script.len() > 500, "{}", script.len());
        conformance::check(|| Owning::new(host), &script, Duration::from_secs(400));
    }
}
