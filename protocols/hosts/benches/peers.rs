//! The cost of many mobile hosts for a gateway: idle ones, and one that is busy among them; and that of strangers.
//!
//! The gateway's inputs are recorded with mobile hosts in virtual time; only the gateway is measured, which sees them
//! again. `idle` divided by 600 s is its share of a core.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use divan::{AllocProfiler, Bencher, counter::ItemsCount};
use hosts::{
    BearerMtu, Caps, Config, Host, Input, Membership, Output, Peer, ResolverTerms, Role,
    SplitTerms, TcpMethod, TcpTerms,
};
use machine::{Deadlines, Machine, RandomStream};
use session::{COOKIE_REPLY_BYTES, INITIATION_BYTES, PrivateKey};
use units::{Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const WALL: u64 = 1_800_000_000_000_000_000;
const DELAY: Duration = Duration::from_millis(5);
/// Mobile hosts begin so far apart.
const APART: Duration = Duration::from_millis(20);
const IDLE: Duration = Duration::from_secs(600);
/// Number of packets for the busy one, and the time between them.
const PACKETS: u64 = 2_000;
const EVERY: Duration = Duration::from_micros(500);
const GATEWAY: usize = 0;

fn main() {
    divan::main();
}

fn key(index: usize) -> PrivateKey {
    let mut stream = RandomStream::named(1, &format!("key {index}"));
    PrivateKey::generate(&mut move |buffer: &mut [u8]| stream.fill(buffer))
}

fn inner(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 9, (index >> 8) as u8, index as u8)
}

fn place(index: usize) -> HopAddress {
    let address = Ipv4Addr::new(192, 0, (index >> 8) as u8, index as u8);
    HopAddress::Udp((address, 5_000).into())
}

fn peer(index: usize) -> Peer {
    let prefix = match index {
        GATEWAY => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        _ => (IpAddr::V4(inner(index)), 32),
    };
    Peer {
        name: format!("host {index}"),
        public: key(index).public_key(),
        preshared: None,
        endpoint: (index == GATEWAY).then(|| place(GATEWAY)),
        prefixes: vec![prefix],
        tcp: TcpTerms::Choose(TcpMethod::Arq),
        split: SplitTerms::Never,
        caps: Caps::default(),
        resolver: ResolverTerms::Silent,
        tls_port: None,
        membership: Membership::default(),
        weight: 1,
    }
}

fn host(index: usize, mobiles: usize, is_shared: bool) -> Host {
    let is_gateway = index == GATEWAY;
    let peers = if is_gateway {
        (1..=mobiles).map(peer).collect()
    } else {
        vec![peer(GATEWAY)]
    };
    let config = Config {
        role: if is_gateway {
            Role::Gateway
        } else {
            Role::Mobile
        },
        key: key(index),
        peers,
        bearer_mtu: BearerMtu::up_to(1_500),
        mobile: hosts::MobileTerms::default(),
        exits: hosts::GuestExits::None,
        shared_air: (is_gateway && is_shared).then(scheduler::Config::default),
        rate: None,
        snoop_cache: Bytes::mebi(2),
        memory: None,
        streams: None,
        split: None,
    };
    let mut stream = RandomStream::named(2, &format!("host {index}"));
    let entropy = Box::new(move |buffer: &mut [u8]| stream.fill(buffer));
    Host::new(config, entropy).expect("a host")
}

/// Inputs of the gateway; `None` is an expired timer.
type Recording = Vec<(Instant, Option<Input>)>;

/// A gateway and its mobile hosts, and the datagrams between them.
struct World {
    hosts: Vec<Host>,
    deadlines: Deadlines<usize>,
    flying: BTreeMap<(Instant, u64), (usize, Input)>,
    launched: u64,
    recording: Recording,
}

impl World {
    fn new(mobiles: usize, is_shared: bool) -> Self {
        let hosts = (0..=mobiles).map(|index| host(index, mobiles, is_shared));
        let mut world = Self {
            hosts: hosts.collect(),
            deadlines: Deadlines::default(),
            flying: BTreeMap::new(),
            launched: 0,
            recording: Vec::new(),
        };
        for index in 0..=mobiles {
            world.launch(
                Instant::ZERO + APART * index as u64,
                index,
                Input::Wall(WALL),
            );
        }
        world
    }

    fn launch(&mut self, at: Instant, to: usize, input: Input) {
        self.launched += 1;
        self.flying.insert((at, self.launched), (to, input));
    }

    fn happen(&mut self, now: Instant, index: usize, input: Option<Input>) {
        if index == GATEWAY {
            self.recording.push((now, input.clone()));
        }
        step(&mut self.hosts[index], now, input);
        while let Some(output) = self.hosts[index].poll_output() {
            let Output::Datagram { to, ecn, buffer } = output else {
                continue;
            };
            let to = (0..self.hosts.len()).find(|host| place(*host) == to);
            let datagram = Input::Datagram {
                from: place(index),
                arrived: now + DELAY,
                ecn,
                buffer,
            };
            self.launch(now + DELAY, to.expect("a host"), datagram);
        }
        let deadline = self.hosts[index].poll_timeout();
        self.deadlines.set(index, deadline);
    }

    fn run_until(&mut self, end: Instant) -> Recording {
        loop {
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let next = machine::earlier(arrival, self.deadlines.first());
            let Some(now) = next.filter(|next| *next < end) else {
                return std::mem::take(&mut self.recording);
            };
            if let Some(index) = self.deadlines.pop_due(now) {
                self.happen(now, index, None);
            } else if let Some((_, (to, input))) = self.flying.pop_first() {
                self.happen(now, to, Some(input));
            }
        }
    }
}

fn step(host: &mut Host, now: Instant, input: Option<Input>) {
    match input {
        Some(input) => host.handle_input(now, input),
        None => host.handle_timeout(now),
    }
}

/// Lets a gateway live through a recording, as its driver would; returns how many outputs it had.
fn replay(gateway: &mut Host, recording: Recording) -> u64 {
    let mut outputs = 0;
    for (now, input) in recording {
        step(gateway, now, input);
        while gateway.poll_output().is_some() {
            outputs += 1;
        }
        divan::black_box(gateway.poll_timeout());
    }
    outputs
}

/// A UDP packet to a mobile host.
fn packet(to: usize) -> Packet {
    let mut bytes = vec![0; 1_200];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&1_200_u16.to_be_bytes());
    bytes[8] = 64;
    bytes[9] = 17;
    bytes[12..16].copy_from_slice(&[203, 0, 113, 1]);
    bytes[16..20].copy_from_slice(&inner(to).octets());
    let sum = bytes[..20]
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    bytes[10..12].copy_from_slice(&(!(((sum & 0xffff) + (sum >> 16)) as u16)).to_be_bytes());
    bytes[20..24].copy_from_slice(&[0, 53, 0x13, 0x88]);
    bytes[24..26].copy_from_slice(&1_180_u16.to_be_bytes());
    Packet::new(PacketBuffer::copy_of(&bytes))
}

/// Returns the inputs of a gateway: until all are connected, then ten minutes without traffic, then packets for the
/// first.
fn recordings(mobiles: usize, is_shared: bool) -> [Recording; 3] {
    let mut world = World::new(mobiles, is_shared);
    let connected = Instant::ZERO + APART * mobiles as u64 + IDLE;
    let start = world.run_until(connected);
    let idle = world.run_until(connected + IDLE);
    for number in 0..PACKETS {
        let at = connected + IDLE + EVERY * number;
        world.launch(at, GATEWAY, Input::Packet(packet(1)));
    }
    let busy = world.run_until(connected + IDLE + EVERY * PACKETS);
    [start, idle, busy]
}

#[divan::bench(args = [1, 1_000], consts = [false, true], sample_count = 5, sample_size = 1)]
fn idle<const SHARED: bool>(bencher: Bencher, mobiles: usize) {
    let [start, idle, _] = recordings(mobiles, SHARED);
    bencher
        .with_inputs(|| {
            let mut gateway = host(GATEWAY, mobiles, SHARED);
            replay(&mut gateway, start.clone());
            (gateway, idle.clone())
        })
        .bench_local_values(|(mut gateway, idle)| {
            replay(&mut gateway, idle);
            gateway
        });
}

#[divan::bench(args = [1, 100, 1_000], consts = [false, true], sample_count = 5, sample_size = 1)]
fn one_busy<const SHARED: bool>(bencher: Bencher, mobiles: usize) {
    let [start, idle, busy] = recordings(mobiles, SHARED);
    bencher
        .counter(ItemsCount::new(PACKETS))
        .with_inputs(|| {
            let mut gateway = host(GATEWAY, mobiles, SHARED);
            replay(&mut gateway, start.clone());
            replay(&mut gateway, idle.clone());
            (gateway, busy.clone())
        })
        .bench_local_values(|(mut gateway, busy)| {
            replay(&mut gateway, busy);
            gateway
        });
}

/// Measures the memory of a gateway that has been connected with all.
#[divan::bench(args = [1_000], consts = [false, true], sample_count = 1, sample_size = 1)]
fn memory<const SHARED: bool>(bencher: Bencher, mobiles: usize) {
    let [start, idle, _] = recordings(mobiles, SHARED);
    bencher.bench_local(|| {
        let mut gateway = host(GATEWAY, mobiles, SHARED);
        for (now, input) in start.iter().chain(&idle) {
            step(&mut gateway, *now, input.clone());
            while gateway.poll_output().is_some() {}
        }
        gateway
    });
}

/// Measures one reply to a query for the state of a gateway with many mobile hosts: packets wait for it.
#[divan::bench(args = ["status", "summary", "memory"])]
fn reply(bencher: Bencher, view: &str) {
    let gateway = host(GATEWAY, 4_000, false);
    let now = Instant::ZERO + IDLE;
    bencher.bench_local(|| match view {
        "status" => serde_json::to_string(&gateway.status_page(now, 1_000)),
        "memory" => serde_json::to_string(&gateway.memory()),
        _ => serde_json::to_string(&gateway.summary_page(now, 1_000)),
    });
}

/// Datagrams that anybody can send; all but the last two kinds need no knowledge of the gateway.
const KINDS: [&str; 9] = [
    "no message",
    "of an unknown index",
    "forged, 40 bytes",
    "forged, 1400 bytes",
    "sent again",
    "an initiation without mac1",
    "a cookie reply",
    "an initiation under load",
    "an initiation under load with a wrong mac2",
];
const MOBILES: usize = 100;

fn from_stranger(number: u64, now: Instant, bytes: &[u8]) -> Input {
    let address = Ipv4Addr::from_bits(0xcb00_0000 + (number & 0xffff) as u32);
    Input::Datagram {
        from: HopAddress::Udp((address, 9).into()),
        arrived: now,
        ecn: Ecn::NotCapable,
        buffer: PacketBuffer::copy_of(bytes),
    }
}

/// Returns the last datagram of a type in a recording.
fn of_type(recording: &Recording, wanted: u8) -> Vec<u8> {
    let datagrams = recording.iter().rev().filter_map(|(_, input)| match input {
        Some(Input::Datagram { buffer, .. }) if buffer[0] == wanted => Some(buffer.to_vec()),
        _ => None,
    });
    datagrams.into_iter().next().expect("a datagram")
}

/// Returns a datagram of one of [`KINDS`].
fn foreign(kind: &str, start: &Recording) -> Vec<u8> {
    let genuine = of_type(start, 4);
    let initiation = of_type(start, 1);
    let mut forged = genuine.clone();
    // A number that has not been received.
    forged[7] ^= 1;
    match kind {
        "no message" => vec![9; 1_400],
        "of an unknown index" => vec![4; 1_400],
        "forged, 40 bytes" => [&forged[..9], &[0; 56]].concat(),
        "forged, 1400 bytes" => [&forged[..9], &[0; 1_416]].concat(),
        "sent again" => genuine,
        "an initiation without mac1" => {
            [&[1, initiation[1]][..], &[0; INITIATION_BYTES - 2]].concat()
        }
        "a cookie reply" => [&[3, initiation[1]][..], &[0; COOKIE_REPLY_BYTES - 2]].concat(),
        "an initiation under load" => initiation,
        _ => [&initiation[..INITIATION_BYTES - 16], &[7; 16]].concat(),
    }
}

/// Measures a gateway with a hundred mobile hosts on what strangers send.
#[divan::bench(args = KINDS)]
fn stranger(bencher: Bencher, kind: &str) {
    let [start, idle, _] = recordings(MOBILES, false);
    let mut gateway = host(GATEWAY, MOBILES, false);
    let now = idle.last().expect("an input").0;
    replay(&mut gateway, start.clone());
    replay(&mut gateway, idle.clone());
    let datagram = foreign(kind, &idle);
    // Nothing is left of the budget for handshakes.
    for number in 0..200 {
        let initiation = of_type(&idle, 1);
        gateway.handle_input(now, from_stranger(number, now, &initiation));
        while gateway.poll_output().is_some() {}
    }
    let mut number = 0;
    bencher
        .with_inputs(|| {
            number += 1;
            from_stranger(number, now, &datagram)
        })
        .bench_local_values(|input| {
            gateway.handle_input(now, input);
            gateway.poll_output()
        });
}

/// Measures packets to a busy mobile host: alone, with five forged datagrams of 1,400 bytes for each that are made and
/// dropped, and with five that the gateway handles.
#[divan::bench(args = ["alone", "dropped", "handled"], sample_count = 40, sample_size = 1)]
fn one_busy_in_a_flood(bencher: Bencher, forged: &str) {
    let [start, idle, busy] = recordings(1, false);
    let datagram = foreign("forged, 1400 bytes", &busy);
    let count = if forged == "alone" { 0 } else { 5 };
    bencher
        .counter(ItemsCount::new(PACKETS))
        .with_inputs(|| {
            let mut gateway = host(GATEWAY, 1, false);
            replay(&mut gateway, start.clone());
            replay(&mut gateway, idle.clone());
            (gateway, busy.clone())
        })
        .bench_local_values(|(mut gateway, busy)| {
            for (now, input) in busy {
                let is_packet = matches!(input, Some(Input::Packet(_)));
                for number in 0..if is_packet { count } else { 0 } {
                    let input = divan::black_box(from_stranger(number, now, &datagram));
                    if forged == "handled" {
                        gateway.handle_input(now, input);
                    }
                }
                replay(&mut gateway, vec![(now, input)]);
            }
            gateway
        });
}
