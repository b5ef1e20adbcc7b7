//! Two hosts with one key: each takes the hop from the other, and traffic goes on as soon as one of them is alone.

use std::collections::BTreeMap;

use hosts::{Host, Input, LimitedBy, Output, Peer, Role, TcpMethod, TcpTerms};
use machine::{Machine, RandomStream};
use simulator::testing::{Clock, Next};
use units::{Duration, Instant, Probability};
use wire::address::HopAddress;
use wire::packet::PacketBuffer;

use crate::support::{Traffic, build, datagram};

const DELAY: Duration = Duration::from_millis(20);
const WALL: u64 = 1_800_000_000_000_000_000;
const SECOND: Duration = Duration::from_secs(1);
const EACH: Duration = Duration::from_millis(100);
/// First byte of an initiation.
const INITIATION: u8 = 1;
/// Port of the packets that go up, and down.
const UP: u16 = 1;
const DOWN: u16 = 2;

/// Names of the hosts' keys.
#[derive(Clone, Copy, PartialEq)]
enum Key {
    Mobile,
    Gateway,
}

fn place(host: usize) -> HopAddress {
    let text = format!("10.0.0.{}:5000", host + 1);
    text.parse().expect("an address")
}

fn host(key: Key, life: u64, method: TcpMethod) -> Host {
    let (name, other, role) = match key {
        Key::Mobile => ("mobile", "gateway", Role::Mobile),
        Key::Gateway => ("gateway", "mobile", Role::Gateway),
    };
    let networks: &[_] = match key {
        Key::Mobile => &[("0.0.0.0", 0)],
        Key::Gateway => &[("10.9.0.2", 32)],
    };
    let peer = Peer {
        endpoint: (key == Key::Mobile).then(|| place(0)),
        tcp: match key {
            Key::Mobile => TcpTerms::Follow,
            Key::Gateway => TcpTerms::Choose(method),
        },
        ..build::peer(other, networks)
    };
    let config = build::config(role, name, vec![peer]);
    build::host(config, build::entropy(life, name))
}

/// What the network does beside the delay.
struct Network {
    /// True if it reports datagrams to a host that does not run.
    reports: bool,
    /// Part of the datagrams that it loses.
    lost: Probability,
    random: RandomStream,
    /// Number of initiations that were sent.
    initiations: u32,
}

/// What hosts that start are given.
struct Starts {
    /// Number of hosts that have started.
    count: u64,
    /// Repair of TCP that the gateway chooses.
    method: TcpMethod,
    /// Unix time at the origin, in nanoseconds.
    wall: u64,
}

/// Hosts on a hop that only delays. Datagrams for the first place go to the gateway that has it at present.
struct Net {
    hosts: Vec<(Key, Option<Host>)>,
    clock: Clock<(usize, usize, PacketBuffer)>,
    gateway: usize,
    /// Mobile host whose packets are sent and counted.
    mobile: usize,
    /// Traffic up, and down.
    traffic: [Traffic; 2],
    /// Time when each packet was sent, by port, and the time that it took.
    arrived: BTreeMap<(u16, Instant), Duration>,
    events: Vec<(Instant, usize, String)>,
    starts: Starts,
    /// TCP segments without content that have crossed, and the host that they came to.
    bare: Vec<(Instant, usize, Vec<u8>)>,
    /// Ports of the packets that are sent.
    ways: Vec<u16>,
    network: Network,
}

impl Net {
    fn new(keys: &[Key]) -> Self {
        let first = |wanted: Key| keys.iter().position(|key| *key == wanted).expect("a host");
        Self {
            hosts: keys.iter().map(|key| (*key, None)).collect(),
            clock: Clock::new(Instant::ZERO),
            gateway: first(Key::Gateway),
            mobile: first(Key::Mobile),
            traffic: [Traffic::upload(UP), Traffic::bulk(DOWN)],
            arrived: BTreeMap::new(),
            events: Vec::new(),
            starts: Starts {
                count: 0,
                method: TcpMethod::Arq,
                wall: WALL,
            },
            bare: Vec::new(),
            ways: vec![UP, DOWN],
            network: Network {
                reports: false,
                lost: Probability::ratio(0, 1),
                random: RandomStream::named(1, "air"),
                initiations: 0,
            },
        }
    }

    /// Starts a host, without any state of a former life.
    fn start(&mut self, index: usize) {
        self.starts.count += 1;
        let (key, host_there) = &mut self.hosts[index];
        *host_there = Some(host(*key, self.starts.count, self.starts.method));
        self.input(
            index,
            Input::Wall(self.starts.wall + self.clock.now.as_nanos()),
        );
    }

    /// Ends a host without a goodbye.
    fn kill(&mut self, index: usize) {
        self.hosts[index].1 = None;
    }

    fn input(&mut self, index: usize, input: Input) {
        let now = self.clock.now;
        if let Some(host) = &mut self.hosts[index].1 {
            host.handle_input(now, input);
        }
        self.drain(index);
    }

    fn drain(&mut self, from: usize) {
        let now = self.clock.now;
        while let Some(output) = self.hosts[from].1.as_mut().and_then(Host::poll_output) {
            match output {
                Output::Datagram { to, buffer, .. } => {
                    let there = (0..self.hosts.len()).find(|index| place(*index) == to);
                    let to = match there {
                        Some(0) => self.gateway,
                        other => other.expect("a host"),
                    };
                    self.network.initiations += u32::from(buffer[0] == INITIATION);
                    if !self.network.random.chance(self.network.lost) {
                        self.clock.add_after(DELAY, (from, to, buffer));
                    }
                }
                Output::Packet(packet) => {
                    if packet.len() == 52 {
                        self.bare.push((now, from, packet.to_vec()));
                        continue;
                    }
                    let port = crate::support::port_of(&packet);
                    let field: [u8; 8] = packet[52..60].try_into().expect("a time");
                    let sent = Instant::from_nanos(u64::from_be_bytes(field));
                    self.arrived.insert((port, sent), now.since(sent));
                }
                Output::Event(event) => self.events.push((now, from, event.to_string())),
                Output::System(_)
                | Output::Seek { .. }
                | Output::Claim { .. }
                | Output::Resolvers(_)
                | Output::Exits { .. }
                | Output::HandedOver(_)
                | Output::Told => {}
            }
        }
    }

    /// Sends a packet each way that shows the time of its departure.
    fn send(&mut self) {
        let now = self.clock.now;
        let ends = [(self.mobile, UP), (self.gateway, DOWN)];
        for (index, port) in ends {
            if !self.ways.contains(&port) {
                continue;
            }
            let traffic = &mut self.traffic[usize::from(port == DOWN)];
            let mut packet = traffic.packet(8);
            packet.rewrite(|bytes| bytes[52..60].copy_from_slice(&now.as_nanos().to_be_bytes()));
            self.input(index, Input::Packet(packet));
        }
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.clock.now + span;
        while self.clock.now < end {
            self.send();
            self.run_until(end.min(self.clock.now + EACH));
        }
    }

    fn run_until(&mut self, end: Instant) {
        loop {
            let hosts = self.hosts.iter().filter_map(|(_, host)| host.as_ref());
            let deadline = hosts.filter_map(Machine::poll_timeout).min();
            match self.clock.advance(end, deadline) {
                Next::Event((from, to, buffer)) => {
                    let source = if self.hosts[from].0 == Key::Gateway {
                        0
                    } else {
                        from
                    };
                    if self.hosts[to].1.is_some() {
                        let input = datagram(place(source), self.clock.now, buffer);
                        self.input(to, input);
                    } else if self.network.reports {
                        self.input(from, Input::PortRefused(place(to)));
                    }
                }
                Next::Deadline => {
                    for index in 0..self.hosts.len() {
                        if let Some(host) = &mut self.hosts[index].1 {
                            host.handle_timeout(self.clock.now);
                        }
                        self.drain(index);
                    }
                }
                Next::End => return,
            }
        }
    }

    /// Returns the time after `since` from which packets that are sent cross at once, each way.
    fn whole_after(&self, since: Instant) -> Vec<Duration> {
        let ways = self.ways.iter();
        let whole = ways.map(|port| {
            let mut whole = since;
            let mut at = since;
            while at + SECOND < self.clock.now {
                let took = self.arrived.get(&(*port, at));
                if took.is_none_or(|took| *took > DELAY * 5) {
                    whole = at + EACH;
                }
                at += EACH;
            }
            whole.since(since)
        });
        whole.collect()
    }

    fn assert_whole_within(&self, since: Instant, bound: Duration) {
        let whole = self.whole_after(since);
        assert!(
            whole.iter().all(|whole| *whole <= bound),
            "packets cross after {whole:?}, not within {bound}: {:#?}",
            self.events
        );
    }
}

/// A gateway is first, then mobile hosts.
const TWO_MOBILES: [Key; 3] = [Key::Gateway, Key::Mobile, Key::Mobile];
const TWO_GATEWAYS: [Key; 3] = [Key::Gateway, Key::Mobile, Key::Gateway];

#[test]
fn a_mobile_goes_on_after_another_host_has_used_its_key() {
    for offset in 0..20 {
        let mut net = Net::new(&TWO_MOBILES);
        net.start(0);
        net.start(1);
        net.run_for(SECOND * 5 + EACH * offset);
        net.start(2);
        net.run_for(SECOND * 2);
        net.kill(2);
        let alone = net.clock.now;
        net.run_for(SECOND * 20);
        net.assert_whole_within(alone, SECOND * 2);
    }
}

/// What waits for a host that was killed does not disturb the next one with its key, at another address.
#[test]
fn a_mobile_that_restarts_at_another_address_gets_no_frame_of_its_former_life() {
    for offset in 0..20 {
        let mut net = Net::new(&TWO_MOBILES);
        net.start(0);
        net.start(1);
        net.run_for(SECOND * 5 + EACH * offset);
        net.kill(1);
        net.run_for(SECOND);
        net.mobile = 2;
        net.start(2);
        let back = net.clock.now;
        net.run_for(SECOND * 10);
        net.assert_whole_within(back, SECOND * 2);
    }
}

#[test]
fn a_mobile_goes_on_after_its_gateway_has_failed_back() {
    for offset in 0..20 {
        let mut net = Net::new(&TWO_GATEWAYS);
        for index in [0, 2, 1] {
            net.start(index);
        }
        net.run_for(SECOND * 5 + EACH * offset);
        for gateway in [2, 0] {
            net.gateway = gateway;
            let moved = net.clock.now;
            net.run_for(SECOND * 20);
            net.assert_whole_within(moved, SECOND * 2);
        }
    }
}

/// Each of two hosts goes on with its own work; the log of each has it once, and its status says it.
#[test]
fn two_hosts_with_one_key_are_told_to_all_three() {
    for keys in [TWO_MOBILES, TWO_GATEWAYS] {
        let mut net = Net::new(&keys);
        for index in 0..3 {
            net.start(index);
        }
        for turn in 0..6 {
            net.gateway = [0, 2][turn % 2];
            if keys == TWO_MOBILES {
                net.gateway = 0;
                net.mobile = 1 + turn % 2;
            }
            net.run_for(SECOND * 20);
        }
        for index in 0..3 {
            let host = net.hosts[index].1.as_ref().expect("a host");
            let limit = host.status(net.clock.now).peers[0].limit.by;
            assert_eq!(limit, LimitedBy::KeyShared, "{index}");
            let lines = net
                .events
                .iter()
                .filter(|(_, of, text)| *of == index && text.contains("takes the hop"));
            let lines = lines.count();
            assert_eq!(lines, 1, "{:#?}", net.events);
        }
    }
}

/// At rest a host begins handshakes to renew its keys, and again where one is lost: far fewer than one in six seconds.
#[test]
fn a_key_that_two_hosts_have_causes_no_handshakes_at_rest() {
    let worlds = (0..4).flat_map(|seed| [(seed, 0), (seed, 1), (seed, 3)]);
    for (seed, lost) in worlds {
        for is_killed in [true, false] {
            let mut net = Net::new(&TWO_MOBILES);
            net.network.lost = Probability::ratio(lost, 10);
            net.network.random = RandomStream::named(seed, "air");
            net.start(0);
            net.start(1);
            net.run_for(SECOND * 5);
            net.start(2);
            net.run_for(SECOND * 5);
            if is_killed {
                net.kill(2);
                net.run_for(SECOND * 5);
            }
            net.run_until(net.clock.now + SECOND * 10);
            let before = net.network.initiations;
            net.run_until(net.clock.now + SECOND * 600);
            let count = net.network.initiations - before;
            let most = if lost == 0 { 12 } else { 100 };
            assert!(count < most, "{count} in {seed} {lost} {is_killed}");
        }
    }
}

#[test]
fn restarts_are_not_taken_for_a_second_host() {
    let mut net = Net::new(&TWO_MOBILES);
    net.start(0);
    net.start(1);
    for turn in 0..10 {
        net.run_for(SECOND * 13);
        net.kill(turn % 2);
        net.run_for(SECOND);
        net.start(turn % 2);
    }
    net.run_for(SECOND * 13);
    let is_told = |(_, _, text): &(Instant, usize, String)| text.contains("takes the hop");
    assert!(!net.events.iter().any(is_told), "{:#?}", net.events);
}

#[test]
fn a_mobile_that_started_with_a_wrong_clock_comes_back_with_a_right_one() {
    let mut net = Net::new(&TWO_MOBILES);
    net.start(0);
    net.starts.wall = WALL + 3_600_000_000_000;
    net.start(1);
    net.run_for(SECOND * 5);
    net.kill(1);
    net.starts.wall = WALL;
    net.start(1);
    let started = net.clock.now;
    net.run_for(SECOND * 300);
    net.assert_whole_within(started, SECOND);
    for index in [0, 1] {
        let is_told =
            |(_, of, text): &&(Instant, usize, String)| *of == index && text.contains("clock");
        assert_eq!(
            net.events.iter().filter(is_told).count(),
            1,
            "{:#?}",
            net.events
        );
    }
}

/// However long its gateway was away, a mobile host that only receives, or only sends, is served within two seconds of
/// its return.
#[test]
fn a_restarted_gateway_serves_within_two_seconds() {
    for ways in [vec![UP], vec![DOWN], vec![UP, DOWN]] {
        for away in (0..60).chain([100, 1_000]) {
            let mut net = Net::new(&TWO_MOBILES);
            net.ways = ways.clone();
            net.start(0);
            net.start(1);
            net.run_for(SECOND * 5 + EACH * (away % 10));
            net.kill(0);
            // Beyond a few seconds only the network's reports show that the hop is there.
            net.network.reports = away > 50;
            net.run_for(EACH * away);
            net.start(0);
            let back = net.clock.now;
            net.run_for(SECOND * 8);
            net.assert_whole_within(back, SECOND * 2);
        }
    }
}

/// A gateway that has lost its state may have lost the address translation of a connection too; the mobile host's
/// segment shows it, also if the connection only receives.
#[test]
fn connections_are_shown_to_a_gateway_that_has_lost_its_state() {
    let mut net = Net::new(&TWO_MOBILES);
    net.start(0);
    net.start(1);
    net.run_for(SECOND * 5);
    net.bare.clear();
    let next = 8_u32 * 50;
    net.ways = vec![DOWN];
    net.run_for(SECOND * 30);
    assert_eq!(net.bare, [], "no segment is made while all is well");
    net.kill(0);
    net.run_for(SECOND);
    net.start(0);
    let back = net.clock.now;
    net.run_for(SECOND * 30);
    let [(at, 0, segment)] = &net.bare[..] else {
        panic!("{:?}", net.bare);
    };
    assert!(at.since(back) <= SECOND * 2);
    // Ports, sequence and acknowledgment number, and the only flag.
    assert_eq!(segment[20..24], [0, 80, 0, 1]);
    assert_eq!(segment[24..28], next.to_be_bytes());
    assert_eq!(segment[28..32], [0, 0, 0, 1]);
    assert_eq!(segment[33], 0x10);
}

/// Where nothing repairs this segment, or the reset that answers it, it is repeated until the connection is heard of.
#[test]
fn connections_are_shown_again_where_nothing_repairs_their_segments() {
    for lives in 0..40 {
        let mut net = Net::new(&TWO_MOBILES);
        net.starts.method = TcpMethod::Plain;
        net.starts.count = lives;
        net.network.random = RandomStream::named(lives, "air");
        net.start(0);
        net.start(1);
        net.run_for(SECOND * 5);
        net.kill(0);
        net.run_for(SECOND);
        net.bare.clear();
        net.start(0);
        net.ways.clear();
        net.network.lost = Probability::ratio(3, 10);
        net.run_for(SECOND * 60);
        let shown = net.bare.iter().filter(|(_, host, _)| *host == 0).count();
        assert!((2..=7).contains(&shown), "shown {shown} times");
    }
}
