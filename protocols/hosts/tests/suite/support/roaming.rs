//! A mobile host among the gateways of a site, in virtual time.

use std::collections::BTreeMap;

use hosts::{Config, EventKind, Host, Input, Output, Peer, Role, SitePart};
use machine::{Machine, RandomStream};
use units::{BitRate, Bytes, Duration, Instant, Probability};
use wire::address::HopAddress;
use wire::packet::{Packet, PacketBuffer};

use super::build::{self, datagram, private_key};
use super::traffic::{Received, Traffic, port_of};
use super::{MOBILE, WALL};

/// Gateways; the first one is the mobile host's home.
pub(crate) const NAMES: [&str; 4] = ["mobile", "home", "second", "third"];
pub(crate) const HOME: usize = 1;
/// Ports of the two flows.
pub(crate) const DOWN: u16 = 1;
pub(crate) const UP: u16 = 2;
/// Most packets of a flow that are on their way, as of a sender of TCP; more would be dropped at the hop's queue.
const WINDOW: u64 = 40;

/// Setting of a site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) seed: u64,
    /// Rate, one-way delay and probability of a loss on each hop.
    pub(crate) rate: BitRate,
    pub(crate) delay: Duration,
    pub(crate) loss: Probability,
    /// One-way delay between two gateways.
    pub(crate) wire: Duration,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            seed: 1,
            rate: BitRate::from_megabits(20),
            delay: Duration::from_millis(10),
            loss: Probability::NEVER,
            wire: Duration::from_millis(5),
        }
    }
}

/// One direction between two hosts.
#[derive(Debug, Default, Clone, Copy)]
struct Line {
    free_at: Instant,
}

/// A mobile host and three gateways.
pub(crate) struct Roaming {
    pub(crate) hosts: Vec<Host>,
    pub(crate) now: Instant,
    pub(crate) events: Vec<(Instant, usize, EventKind)>,
    /// Packets that each flow has sent, and what came of it.
    pub(crate) sent: [u64; 2],
    pub(crate) received: [Received; 2],
    /// Longest time without a packet of the flow to the mobile host, since this was set to zero.
    pub(crate) stall: Duration,
    heard: Instant,
    setting: Setting,
    random: RandomStream,
    lines: BTreeMap<(usize, usize), Line>,
    /// Datagrams on their way, by time and number.
    flying: BTreeMap<(Instant, u64), (usize, usize, PacketBuffer)>,
    number: u64,
    flows: [Traffic; 2],
    /// Time between two packets of each flow, and of the next ones.
    every: [Duration; 2],
    next: [Instant; 2],
    /// Hosts that are cut off.
    pub(crate) cut: Vec<usize>,
}

fn address(host: usize) -> HopAddress {
    HopAddress::Udp(([10, 0, 0, host as u8], 5_000).into())
}

fn peer(of: usize, host: usize) -> Peer {
    let (networks, site): (&[_], _) = match (of, host) {
        (MOBILE, _) => (&[("0.0.0.0", 0)], SitePart::Gateway),
        (HOME, MOBILE) => (&[("10.9.0.2", 32)], SitePart::Alone),
        (_, MOBILE) => {
            let home = private_key(NAMES[HOME]).public_key();
            (&[("10.9.0.2", 32)], SitePart::Guest(home))
        }
        _ => (&[], SitePart::Gateway),
    };
    Peer {
        endpoint: (host != MOBILE).then(|| address(host)),
        site,
        ..build::peer(NAMES[host], networks)
    }
}

fn host(index: usize, seed: u64) -> Host {
    let others = (0..NAMES.len()).filter(|other| *other != index);
    let peers = others.map(|other| peer(index, other)).collect();
    let role = if index == MOBILE {
        Role::Mobile
    } else {
        Role::Gateway
    };
    let config: Config = build::config(role, NAMES[index], peers);
    build::host(config, build::entropy(seed, NAMES[index]))
}

impl Roaming {
    pub(crate) fn new(setting: Setting) -> Self {
        let mut site = Self {
            hosts: (0..NAMES.len())
                .map(|index| host(index, setting.seed))
                .collect(),
            now: Instant::ZERO,
            events: Vec::new(),
            sent: [0; 2],
            received: [Received::begin(), Received::begin()],
            stall: Duration::ZERO,
            heard: Instant::ZERO,
            random: RandomStream::named(setting.seed, "losses"),
            setting,
            lines: BTreeMap::new(),
            flying: BTreeMap::new(),
            number: 0,
            flows: [Traffic::bulk(DOWN), Traffic::upload(UP)],
            every: [Duration::from_micros(1_000), Duration::from_micros(5_000)],
            next: [Instant::from_millis(1_000); 2],
            cut: Vec::new(),
        };
        for host in 0..NAMES.len() {
            site.input(host, Input::Wall(WALL));
        }
        site
    }

    pub(crate) fn input(&mut self, host: usize, input: Input) {
        self.hosts[host].handle_input(self.now, input);
        self.carry(host);
    }

    /// Has the mobile host move to this gateway.
    pub(crate) fn move_to(&mut self, gateway: usize) {
        let key = private_key(NAMES[gateway]).public_key();
        self.input(MOBILE, Input::MoveTo(key));
    }

    fn carry(&mut self, host: usize) {
        while let Some(output) = self.hosts[host].poll_output() {
            match output {
                Output::Packet(packet) => self.delivered(host, &packet),
                Output::Datagram { to, buffer, .. } => self.launch(host, to, buffer),
                Output::Event(event) => self.events.push((self.now, host, event.kind)),
                _ => {}
            }
        }
    }

    fn delivered(&mut self, host: usize, packet: &Packet) {
        let flow = match port_of(packet) {
            DOWN => 0,
            UP => 1,
            _ => return,
        };
        assert_eq!(host, [MOBILE, HOME][flow], "flow {flow} came out elsewhere");
        self.received[flow].note(packet);
        if flow == 0 {
            self.stall = self.stall.max(self.now.since(self.heard));
            self.heard = self.now;
        }
    }

    fn launch(&mut self, from: usize, to: HopAddress, buffer: PacketBuffer) {
        let to = (0..NAMES.len())
            .find(|host| address(*host) == to)
            .expect("a host");
        if [from, to].iter().any(|host| self.cut.contains(host)) {
            return;
        }
        let is_hop = from == MOBILE || to == MOBILE;
        let line = self.lines.entry((from, to)).or_default();
        let (rate, delay, loss) = if is_hop {
            (self.setting.rate, self.setting.delay, self.setting.loss)
        } else {
            (
                BitRate::from_megabits(1_000),
                self.setting.wire,
                Probability::NEVER,
            )
        };
        line.free_at = line.free_at.max(self.now) + rate.time_for(Bytes::from(buffer.len() + 42));
        let arrives = line.free_at + delay;
        if self.random.chance(loss) {
            return;
        }
        self.number += 1;
        self.flying
            .insert((arrives, self.number), (from, to, buffer));
    }

    /// Lets time pass. Until `silent`, both flows send.
    pub(crate) fn run(&mut self, span: Duration, silent: bool) {
        let end = self.now + span;
        loop {
            let timer = self.hosts.iter().filter_map(Machine::poll_timeout).min();
            let flying = self.flying.first_key_value().map(|(key, _)| key.0);
            let traffic = self.next.iter().min().copied().filter(|_| !silent);
            let Some(next) = [timer, flying, traffic].into_iter().flatten().min() else {
                break;
            };
            if next > end {
                break;
            }
            self.now = next.max(self.now);
            self.step(silent);
        }
        self.now = end;
        if silent {
            self.next = [end; 2];
        }
    }

    fn step(&mut self, silent: bool) {
        while let Some(entry) = self
            .flying
            .first_entry()
            .filter(|entry| entry.key().0 <= self.now)
        {
            let (from, to, buffer) = entry.remove();
            let input = datagram(address(from), self.now, buffer);
            self.input(to, input);
        }
        for host in 0..NAMES.len() {
            if self.hosts[host]
                .poll_timeout()
                .is_some_and(|due| due <= self.now)
            {
                self.hosts[host].handle_timeout(self.now);
                self.carry(host);
            }
        }
        for flow in 0..2 {
            if !silent && self.next[flow] <= self.now {
                self.next[flow] = self.now + self.every[flow];
                if self.sent[flow] >= self.received[flow].packets + WINDOW {
                    continue;
                }
                self.sent[flow] += 1;
                let packet = self.flows[flow].next();
                self.input([HOME, MOBILE][flow], Input::Packet(packet));
            }
        }
    }
}
