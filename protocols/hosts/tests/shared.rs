//! One gateway and its mobiles on one air, each with fades of its own.

mod support;

use std::collections::VecDeque;
use std::net::SocketAddr;

use hosts::{Config, Host, Input, Output, Peer, PeerStatus, Role, TcpTerms};
use machine::{Machine, RandomStream};
use scheduler::config::Discipline;
use support::{Received, Traffic, private_key};
use units::{BitRate, Bytes, Duration, Instant};
use wire::packet::{Packet, PacketBuffer};

const RATE: BitRate = BitRate::from_megabits(10);
const DELAY: Duration = Duration::from_millis(5);
/// What the driver of the air holds.
const QUEUE: usize = 100;
const AROUND_UDP: usize = 14 + 20 + 8;
/// What waits at the gateway for each mobile.
const BACKLOG: Bytes = Bytes::kibi(64);
/// Until here the hop is measured and flows begin.
const WARM_UP: Instant = Instant::from_millis(3_000);

fn name(index: usize) -> String {
    format!("host {index}")
}

fn place(index: usize) -> SocketAddr {
    format!("10.0.0.{}:5000", index + 1)
        .parse()
        .expect("an address")
}

fn peer(index: usize) -> Peer {
    let prefix = match index {
        0 => ("0.0.0.0".to_owned(), 0),
        _ => (format!("10.9.0.{index}"), 32),
    };
    Peer {
        name: name(index),
        public: private_key(&name(index)).public_key(),
        preshared: None,
        endpoint: (index == 0).then(|| place(0)),
        prefixes: vec![(prefix.0.parse().expect("an address"), prefix.1)],
        tcp: TcpTerms::Follow,
    }
}

fn host(index: usize, mobiles: usize, discipline: Discipline) -> Host {
    let (role, peers, shared_air) = match index {
        0 => {
            let config = scheduler::Config {
                discipline,
                ..scheduler::Config::default()
            };
            let peers = (1..=mobiles).map(peer).collect();
            (Role::Gateway, peers, Some(config))
        }
        _ => (Role::Mobile, vec![peer(0)], None),
    };
    let config = Config {
        role,
        key: private_key(&name(index)),
        peers,
        bearer_mtu: 1500,
        shared_air,
        rate: None,
        snoop_cache: Bytes::mebi(32),
    };
    let mut stream = RandomStream::named(11, &name(index));
    let entropy = Box::new(move |buffer: &mut [u8]| stream.fill(buffer));
    Host::new(config, entropy).expect("a host")
}

/// When a mobile hears nothing, and is not heard: `bad` of each `cycle`, from `WARM_UP` on.
#[derive(Debug, Clone, Copy, Default)]
struct Fades {
    cycle: Duration,
    bad: Duration,
}

impl Fades {
    fn is_bad(self, at: Instant) -> bool {
        at > WARM_UP
            && !self.cycle.is_zero()
            && at.since(WARM_UP).as_nanos() % self.cycle.as_nanos() < self.bad.as_nanos()
    }
}

/// A datagram on its way, with the mobile that sends or gets it.
struct Datagram {
    at: Instant,
    from: usize,
    to: usize,
    buffer: PacketBuffer,
}

/// Gateway, mobiles, and the air between them: one queue, in which each datagram takes its time.
struct Net {
    hosts: Vec<Host>,
    fades: Vec<Fades>,
    now: Instant,
    busy_until: Instant,
    flying: VecDeque<Datagram>,
    traffic: Vec<Traffic>,
    received: Vec<Received>,
    /// Bytes that had been received by `WARM_UP`.
    before: Vec<u64>,
    overflows: u64,
}

impl Net {
    fn new(discipline: Discipline, fades: Vec<Fades>) -> Self {
        let mobiles = fades.len();
        let mut net = Self {
            hosts: (0..=mobiles)
                .map(|index| host(index, mobiles, discipline))
                .collect(),
            fades,
            now: Instant::ZERO,
            busy_until: Instant::ZERO,
            flying: VecDeque::new(),
            traffic: (0..mobiles)
                .map(|port| Traffic::bulk(port as u16))
                .collect(),
            received: (0..mobiles).map(|_| Received::begin()).collect(),
            before: Vec::new(),
            overflows: 0,
        };
        for index in 0..=mobiles {
            net.input(index, Input::Wall(1_800_000_000_000_000_000));
        }
        net
    }

    fn input(&mut self, index: usize, input: Input) {
        self.hosts[index].handle_input(self.now, input);
        self.drain(index);
    }

    fn drain(&mut self, index: usize) {
        while let Some(output) = self.hosts[index].poll_output() {
            match output {
                Output::Datagram { to, buffer } => self.launch(index, to, buffer),
                Output::Packet(packet) if index > 0 => self.received[index - 1].note(&packet),
                Output::Packet(_) | Output::Event(_) => {}
            }
        }
    }

    fn launch(&mut self, from: usize, to: SocketAddr, buffer: PacketBuffer) {
        let to = (0..self.hosts.len())
            .find(|index| place(*index) == to)
            .expect("a host");
        let waiting = self
            .flying
            .iter()
            .filter(|flying| flying.at > self.now + DELAY);
        if waiting.count() >= QUEUE {
            self.overflows += u64::from(self.now > WARM_UP);
            return;
        }
        let size = Bytes::from(buffer.len() + AROUND_UDP);
        self.busy_until = self.busy_until.max(self.now) + RATE.time_for(size);
        if !self.fades[from.max(to) - 1].is_bad(self.busy_until) {
            let at = self.busy_until + DELAY;
            self.flying.push_back(Datagram {
                at,
                from,
                to,
                buffer,
            });
        }
    }

    /// Keeps something waiting for every mobile.
    fn feed(&mut self) {
        for mobile in 0..self.traffic.len() {
            while self.peer(mobile).hop.queued < BACKLOG {
                let packet = self.packet(mobile);
                self.input(0, Input::Packet(packet));
            }
        }
    }

    fn packet(&mut self, mobile: usize) -> Packet {
        let mut packet = self.traffic[mobile].next();
        packet.buffer[16..20].copy_from_slice(&[10, 9, 0, mobile as u8 + 1]);
        packet
    }

    fn peer(&self, mobile: usize) -> PeerStatus {
        self.hosts[0].status(self.now).peers[mobile].clone()
    }

    fn run_until(&mut self, end: Instant) {
        let tick = Duration::from_millis(10);
        let mut next_feed = self.now;
        while self.now < end {
            let timeouts = self.hosts.iter().filter_map(Host::poll_timeout);
            let arrival = self.flying.front().map(|flying| flying.at);
            let next = timeouts.chain(arrival).chain([next_feed]).min();
            self.now = next.expect("a time").max(self.now);
            if next_feed <= self.now {
                next_feed = self.now + tick;
                if self.now > Instant::from_millis(500) {
                    self.feed();
                }
            }
            while let Some(flying) = self.flying.pop_front_if(|flying| flying.at <= self.now) {
                let input = Input::Datagram {
                    from: place(flying.from),
                    arrived: self.now,
                    buffer: flying.buffer,
                };
                self.input(flying.to, input);
            }
            for index in 0..self.hosts.len() {
                if self.hosts[index]
                    .poll_timeout()
                    .is_some_and(|due| due <= self.now)
                {
                    self.hosts[index].handle_timeout(self.now);
                    self.drain(index);
                }
            }
        }
    }

    /// Runs for so long after the warm-up; returns what each mobile got in that time, in bytes.
    fn measure(&mut self, span: Duration) -> Vec<u64> {
        self.run_until(WARM_UP);
        self.before = self
            .received
            .iter()
            .map(|received| received.payload)
            .collect();
        self.run_until(WARM_UP + span);
        let got = self.received.iter().zip(&self.before);
        got.map(|(received, before)| received.payload - before)
            .collect()
    }
}

const MOBILES: usize = 8;
const SPAN: Duration = Duration::from_secs(10);

fn with_one_in_fades(discipline: Discipline, fades: Fades) -> (Net, Vec<u64>) {
    let mut all = vec![Fades::default(); MOBILES];
    all[MOBILES - 1] = fades;
    let mut net = Net::new(discipline, all);
    let got = net.measure(SPAN);
    (net, got)
}

const HALF: Fades = Fades {
    cycle: Duration::from_millis(400),
    bad: Duration::from_millis(200),
};

#[test]
fn mobiles_share_the_air_and_fill_it() {
    let (net, got) = with_one_in_fades(Discipline::Airtime, Fades::default());
    let total = got.iter().sum::<u64>();
    let bound = RATE.bytes_in(SPAN).get();
    assert!(total * 100 > bound * 88, "{total} of {bound}, {got:?}");
    let (least, most) = (got.iter().min(), got.iter().max());
    let (least, most) = (least.expect("eight"), most.expect("eight"));
    assert!(least * 100 >= most * 98, "{got:?}");
    assert!(net.received.iter().all(|received| received.in_order));
    assert_eq!(net.overflows, 0);
}

#[test]
fn a_mobile_in_fades_takes_next_to_nothing_from_the_others() {
    for discipline in [Discipline::Airtime, Discipline::CsdpRoundRobin] {
        let (_, undisturbed) = with_one_in_fades(discipline, Fades::default());
        let (net, got) = with_one_in_fades(discipline, HALF);
        let others = |got: &[u64]| got[..MOBILES - 1].iter().sum::<u64>();
        let (now, before) = (others(&got), others(&undisturbed));
        assert!(
            now * 100 >= before * 95,
            "{discipline:?}: {now} of {before}"
        );
        assert!(got[MOBILES - 1] > 0, "it is starved");
        assert!(net.received.iter().all(|received| received.in_order));
        let fading = net.peer(MOBILES - 1).air.expect("a shared air");
        assert!(fading.bursts > 10, "{fading:?}");
    }
}

#[test]
fn a_mobile_that_never_answers_costs_the_others_little() {
    let gone = Fades {
        cycle: Duration::from_secs(100),
        bad: Duration::from_secs(100),
    };
    let (_, undisturbed) = with_one_in_fades(Discipline::Airtime, Fades::default());
    let (_, got) = with_one_in_fades(Discipline::Airtime, gone);
    let others = |got: &[u64]| got[..MOBILES - 1].iter().sum::<u64>();
    let (now, before) = (others(&got), others(&undisturbed));
    assert!(now >= before, "{now} of {before}");
}
