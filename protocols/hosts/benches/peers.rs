//! The cost of many mobile hosts for a gateway: idle ones, and one that is busy among them.
//!
//! The gateway's inputs are recorded with mobile hosts in virtual time; only the gateway is measured, which sees them
//! again. `idle` divided by 600 s is its share of a core.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use divan::{AllocProfiler, Bencher, counter::ItemsCount};
use hosts::{
    BearerMtu, Caps, Config, Host, Input, Output, Peer, Role, SplitTerms, TcpMethod, TcpTerms,
};
use machine::{Deadlines, Machine, RandomStream};
use session::PrivateKey;
use units::{Bytes, Duration, Instant};
use wire::address::HopAddress;
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
