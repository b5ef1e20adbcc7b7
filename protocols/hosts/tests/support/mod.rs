//! Two hosts, a channel and a clock.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use channel::{Channel, Direction, Link};
use hosts::{Config, Host, Input, Output, Peer, Role};
use machine::{Machine, RandomStream};
use session::{Entropy, PrivateKey};
use units::{Bytes, Duration, Instant};
use wire::packet::{Checksum, Packet, PacketBuffer};

const MOBILE: &str = "10.0.0.2:5000";
const GATEWAY: &str = "10.0.0.1:5000";
const AROUND_UDP: usize = 14 + 20 + 8;

/// A source of TCP packets from the fixed host to the mobile.
pub(crate) struct Traffic {
    port: u16,
    sequence: u32,
    sent: u64,
}

impl Traffic {
    /// A flow that always has packets waiting.
    pub(crate) fn bulk(port: u16) -> Self {
        Self {
            port,
            sequence: 0,
            sent: 0,
        }
    }

    fn next(&mut self) -> Packet {
        let payload = 1_448;
        let mut bytes = vec![
            0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 10, 9, 0, 2,
        ];
        let total = (52 + payload) as u16;
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        bytes[4..6].copy_from_slice(&(self.sent as u16).to_be_bytes());
        bytes.extend([0x00, 80]);
        bytes.extend(self.port.to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend([0, 0, 0, 1, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
        bytes.extend((self.sent as u32 / 20).to_be_bytes());
        bytes.extend([0, 0, 0, 7]);
        bytes.extend((0..payload).map(|place| place as u8));
        self.sequence = self.sequence.wrapping_add(payload as u32);
        self.sent += 1;
        let mut packet = Packet::new(PacketBuffer::copy_of(&bytes));
        packet.checksum = Checksum::Verified;
        packet
    }
}

/// What a flow's receiver saw.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    pub(crate) packets: u64,
    pub(crate) payload: u64,
    pub(crate) in_order: bool,
    next: u32,
}

/// A mobile host and its gateway.
pub(crate) struct Pair {
    hosts: [Host; 2],
    channel: Channel<(usize, PacketBuffer)>,
    link: Link,
    seed: u64,
    now: Instant,
    traffic: Vec<Traffic>,
    received: BTreeMap<u16, Received>,
    pending: VecDeque<(usize, Output)>,
}

fn entropy(seed: u64, name: &str) -> Box<dyn Entropy> {
    let mut stream = RandomStream::named(seed, name);
    Box::new(move |buffer: &mut [u8]| stream.fill(buffer))
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

impl Pair {
    /// A pair over a named link.
    pub(crate) fn new(link: &str, seed: u64) -> Self {
        let keys =
            ["mobile", "gateway"].map(|name| PrivateKey::generate(&mut *entropy(seed, name)));
        let publics = [keys[0].public_key(), keys[1].public_key()];
        let roles = [Role::Mobile, Role::Gateway];
        let mut index = 0;
        let hosts = keys.map(|key| {
            let prefix = if index == 0 {
                ("0.0.0.0", 0)
            } else {
                ("10.9.0.2", 32)
            };
            let peer = Peer {
                name: "peer".into(),
                public: publics[1 - index],
                preshared: None,
                endpoint: (index == 0).then(|| address(GATEWAY)),
                prefixes: vec![(prefix.0.parse().expect("an address"), prefix.1)],
            };
            let config = Config {
                role: roles[index],
                key,
                peers: vec![peer],
                bearer_mtu: 1500,
                rate: None,
            };
            index += 1;
            Host::new(config, entropy(seed, "sessions")).expect("a host")
        });
        let link = Link::named(link).expect("a link");
        let mut pair = Self {
            hosts,
            channel: Channel::new(&link, seed),
            link,
            seed,
            now: Instant::ZERO,
            traffic: Vec::new(),
            received: BTreeMap::new(),
            pending: VecDeque::new(),
        };
        for host in 0..2 {
            pair.input(host, Input::Wall(1_800_000_000_000_000_000));
        }
        pair
    }

    pub(crate) fn add(&mut self, traffic: Traffic) {
        self.traffic.push(traffic);
    }

    pub(crate) fn received(&self, port: u16) -> Received {
        self.received.get(&port).cloned().unwrap_or_default()
    }

    /// Payload that arrived, as a share of what the link could carry in `time`.
    pub(crate) fn share(&self, port: u16, time: Duration) -> f64 {
        let span = Instant::ZERO..Instant::ZERO + time;
        let bound = self
            .link
            .capacity(Direction::Down, self.seed, span)
            .unwrap_or(Bytes::new(1));
        self.received(port).payload as f64 / bound.get() as f64
    }

    pub(crate) fn summary(&self) -> String {
        format!("{:?}", self.hosts[1].status(self.now).peers[0].hop)
    }

    fn input(&mut self, host: usize, input: Input) {
        self.hosts[host].handle_input(self.now, input);
        self.drain(host);
    }

    fn drain(&mut self, host: usize) {
        while let Some(output) = self.hosts[host].poll_output() {
            self.pending.push_back((host, output));
        }
        while let Some((host, output)) = self.pending.pop_front() {
            self.carry_out(host, output);
        }
    }

    fn carry_out(&mut self, host: usize, output: Output) {
        match output {
            Output::Datagram { buffer, .. } => {
                let direction = if host == 0 {
                    Direction::Up
                } else {
                    Direction::Down
                };
                let size = Bytes::from(buffer.len() + AROUND_UDP);
                let input = channel::Input::Send {
                    direction,
                    size,
                    payload: (1 - host, buffer),
                };
                self.channel.handle_input(self.now, input);
                self.drain_channel();
            }
            Output::Packet(packet) => self.note(&packet),
            Output::Event(_) => {}
        }
    }

    fn drain_channel(&mut self) {
        let mut arrived = Vec::new();
        while let Some(output) = self.channel.poll_output() {
            if let channel::Output::Deliver { payload, .. } = output {
                arrived.push(payload);
            }
        }
        for (host, buffer) in arrived {
            let from = address(if host == 1 { MOBILE } else { GATEWAY });
            let arrived = self.now;
            self.hosts[host].handle_input(
                self.now,
                Input::Datagram {
                    from,
                    arrived,
                    buffer,
                },
            );
            while let Some(output) = self.hosts[host].poll_output() {
                self.pending.push_back((host, output));
            }
        }
    }

    fn note(&mut self, packet: &Packet) {
        let port = u16::from_be_bytes([packet.buffer[22], packet.buffer[23]]);
        let field = [24, 25, 26, 27].map(|place| packet.buffer[place]);
        let payload = packet.buffer.len() - 52;
        let received = self.received.entry(port).or_insert(Received {
            in_order: true,
            ..Received::default()
        });
        received.in_order &= received.next == u32::from_be_bytes(field);
        received.next = received.next.wrapping_add(payload as u32);
        received.packets += 1;
        received.payload += payload as u64;
    }

    /// Keeps every source's queue at the gateway filled.
    fn feed(&mut self) {
        let established = self.hosts[1].status(self.now).peers[0].keys_age.is_some();
        for index in 0..self.traffic.len() {
            while established
                && self.hosts[1].status(self.now).peers[0].hop.queued < Bytes::kibi(40)
            {
                let packet = self.traffic[index].next();
                self.input(1, Input::Packet(packet));
            }
        }
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        while self.now < end {
            self.feed();
            let deadlines = [
                self.channel.poll_timeout(),
                self.hosts[0].poll_timeout(),
                self.hosts[1].poll_timeout(),
            ];
            let next = deadlines.into_iter().flatten().min().unwrap_or(end);
            self.now = self.now.max(next.min(end));
            self.channel.handle_timeout(self.now);
            self.drain_channel();
            for host in 0..2 {
                self.hosts[host].handle_timeout(self.now);
                self.drain(host);
            }
        }
    }
}
