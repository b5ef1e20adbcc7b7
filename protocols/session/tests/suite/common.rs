//! A mobile host and a gateway in virtual time, with an air between them that loses, delays and reorders.

use std::collections::BTreeSet;

use machine::RandomStream;
use session::{
    Config, DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Endpoint, Event, Limits, Output, OwnKeys,
    PeerConfig, PeerId, PresharedKey, PrivateKey, Received, Role, SealError,
};
use simulator::testing::{Clock, Next};
use units::{Duration, Instant, Probability};
use wire::address::HopAddress;

pub(crate) const MOBILE: usize = 0;
pub(crate) const GATEWAY: usize = 1;

/// Returns the address of a host.
pub(crate) fn address(host: usize) -> HopAddress {
    HopAddress::Udp(([192, 0, 2, host as u8], 51_830).into())
}

pub(crate) fn private_key(seed: u64, name: &str) -> PrivateKey {
    let mut stream = RandomStream::named(seed, name);
    PrivateKey::generate(&mut |buffer: &mut [u8]| stream.fill(buffer))
}

pub(crate) fn preshared_key(seed: u64) -> PresharedKey {
    let mut stream = RandomStream::named(seed, "preshared");
    PresharedKey::generate(&mut |buffer: &mut [u8]| stream.fill(buffer))
}

/// Returns a host called `name`; equal seeds and names give equal hosts.
pub(crate) fn endpoint(seed: u64, name: &str, limits: Limits) -> Endpoint {
    let mut stream = RandomStream::named(seed, &format!("{name} entropy"));
    let config = Config {
        private_key: private_key(7, name),
        wall_clock_at_origin: 1_700_000_000_000_000_000,
        limits,
    };
    Endpoint::new(
        config,
        Box::new(move |buffer: &mut [u8]| stream.fill(buffer)),
    )
}

/// Returns `[header][payload][tag]`, not sealed yet.
pub(crate) fn buffer(payload: &[u8]) -> Vec<u8> {
    let mut buffer = vec![0; payload.len() + DATA_OVERHEAD_BYTES];
    buffer[DATA_HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
    buffer
}

/// Faults of the medium.
pub(crate) struct Air {
    pub(crate) loss: Probability,
    pub(crate) duplication: Probability,
    /// Delay is drawn from `[delay, 2 · delay]`, so datagrams overtake each other.
    pub(crate) delay: Duration,
    pub(crate) up: bool,
}

pub(crate) struct World {
    /// What is on the air, with the host that it goes to.
    pub(crate) clock: Clock<(usize, Vec<u8>)>,
    pub(crate) hosts: [Endpoint; 2],
    pub(crate) peers: [PeerId; 2],
    pub(crate) air: Air,
    /// Datagrams put on the air, by destination.
    pub(crate) sent: Vec<(usize, Vec<u8>)>,
    pub(crate) delivered: [Vec<Vec<u8>>; 2],
    pub(crate) events: [Vec<(Instant, Event)>; 2],
    /// Datagrams that reached a host, as they arrived.
    pub(crate) arrived: Vec<(Instant, usize, Vec<u8>)>,
    headers: BTreeSet<(usize, u64, Vec<u8>)>,
    lives: [u64; 2],
    chance: RandomStream,
    limits: Limits,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self::with_limits(seed, Limits::default())
    }

    pub(crate) fn with_limits(seed: u64, limits: Limits) -> Self {
        let (hosts, peers) = hosts(seed, limits);
        Self {
            clock: Clock::new(Instant::ZERO),
            hosts,
            peers,
            air: Air {
                loss: Probability::NEVER,
                duplication: Probability::NEVER,
                delay: Duration::from_millis(20),
                up: true,
            },
            sent: Vec::new(),
            delivered: [Vec::new(), Vec::new()],
            events: [Vec::new(), Vec::new()],
            arrived: Vec::new(),
            headers: BTreeSet::new(),
            lives: [seed, seed],
            chance: RandomStream::named(seed, "air"),
            limits,
        }
    }

    /// Restarts `host`: all its state is gone, its key stays.
    pub(crate) fn restart(&mut self, host: usize) {
        self.lives[host] += 1_000;
        let name = ["mobile", "gateway"][host];
        self.hosts[host] = endpoint(self.lives[host], name, self.limits);
        self.peers[host] = introduce(&mut self.hosts, host);
        if host == MOBILE {
            self.connect();
        }
    }

    pub(crate) fn connect(&mut self) {
        self.hosts[MOBILE]
            .connect(self.clock.now, self.peers[MOBILE])
            .expect("the mobile is the initiator");
        self.drain(MOBILE);
    }

    pub(crate) fn replace_keys(&mut self, of: usize, keys: OwnKeys) {
        self.hosts[of].replace_keys(self.clock.now, keys);
        self.drain(of);
    }

    pub(crate) fn send(&mut self, from: usize, payload: &[u8]) -> Result<u64, SealError> {
        let mut datagram = buffer(payload);
        let number = self.hosts[from].seal(self.clock.now, self.peers[from], &mut datagram)?;
        self.launch(1 - from, &datagram);
        self.drain(from);
        Ok(number)
    }

    /// Puts a datagram on the air, and checks that no (key, nonce) comes twice.
    fn launch(&mut self, to: usize, datagram: &[u8]) {
        if datagram[0] == 4 {
            let header = datagram[..DATA_HEADER_BYTES].to_vec();
            assert!(
                self.headers.insert((to, self.lives[1 - to], header)),
                "a nonce repeats at {}",
                self.clock.now
            );
        }
        self.sent.push((to, datagram.to_vec()));
        for _ in 0..=u8::from(self.chance.chance(self.air.duplication)) {
            if self.air.up && !self.chance.chance(self.air.loss) {
                let delay = self.chance.uniform(self.air.delay, self.air.delay * 2);
                self.clock.add_after(delay, (to, datagram.to_vec()));
            }
        }
    }

    pub(crate) fn drain(&mut self, host: usize) {
        while let Some(output) = self.hosts[host].poll_output() {
            match output {
                Output::Transmit { datagram, .. } => self.launch(1 - host, &datagram),
                Output::Event(event) => self.events[host].push((self.clock.now, event)),
            }
        }
    }

    pub(crate) fn deliver(&mut self, to: usize, mut datagram: Vec<u8>) {
        self.arrived.push((self.clock.now, to, datagram.clone()));
        let from = Some(address(1 - to));
        match self.hosts[to].handle_datagram_from(self.clock.now, from, &mut datagram) {
            Received::Data { plaintext, .. } if !plaintext.is_empty() => {
                self.delivered[to].push(plaintext.to_vec());
            }
            Received::Reply(reply) => {
                let reply = reply.to_vec();
                self.launch(1 - to, &reply);
            }
            _ => {}
        }
        self.drain(to);
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.clock.now + span;
        loop {
            let timers = self.hosts.iter().filter_map(Endpoint::poll_timeout);
            match self.clock.advance(end, timers.min()) {
                Next::Event((to, datagram)) => self.deliver(to, datagram),
                Next::Deadline => self.handle_timeout(),
                Next::End => return,
            }
        }
    }

    fn handle_timeout(&mut self) {
        let now = self.clock.now;
        for host in [MOBILE, GATEWAY] {
            self.hosts[host].handle_timeout(now);
            self.drain(host);
            let deadline = self.hosts[host].poll_timeout();
            assert!(deadline.is_none_or(|at| at > now), "a spin at {now}");
        }
    }

    /// Runs until the mobile can send, and returns how long that took.
    pub(crate) fn until_established(&mut self) -> Duration {
        let start = self.clock.now;
        let before = self.established(MOBILE);
        while self.established(MOBILE) == before {
            self.run_for(Duration::from_millis(1));
            assert!(
                self.clock.now.since(start) < Duration::from_secs(600),
                "never established"
            );
        }
        self.clock.now.since(start)
    }

    pub(crate) fn established(&self, host: usize) -> usize {
        let is_established =
            |(_, event): &&(Instant, Event)| matches!(event, Event::Established { .. });
        self.events[host].iter().filter(is_established).count()
    }

    pub(crate) fn handshakes_sent(&self, kind: u8) -> usize {
        self.sent
            .iter()
            .filter(|(_, datagram)| datagram[0] == kind)
            .count()
    }
}

/// Returns a mobile host and a gateway that know each other, and the names that they have for each other.
pub(crate) fn hosts(seed: u64, limits: Limits) -> ([Endpoint; 2], [PeerId; 2]) {
    let names = ["mobile", "gateway"];
    let mut hosts = names.map(|name| endpoint(seed, name, limits));
    let peers = [MOBILE, GATEWAY].map(|host| introduce(&mut hosts, host));
    (hosts, peers)
}

/// Adds the other host as a peer of `host`.
fn introduce(hosts: &mut [Endpoint; 2], host: usize) -> PeerId {
    let config = PeerConfig {
        public_key: hosts[1 - host].public_key(),
        preshared_key: Some(preshared_key(1)),
        role: [Role::Initiator, Role::Responder][host],
        features: 5,
    };
    hosts[host].add_peer(config).expect("the keys differ")
}
