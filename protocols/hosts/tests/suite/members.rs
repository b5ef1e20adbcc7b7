//! Peers that come, change and go while others transfer.

use hosts::{
    AdmitError, Config, Decline, Event, EventKind, Host, Input, Output, Peer, Registration, Role,
    Scope, TcpMethod, TcpTerms,
};
use machine::{Machine, conformance};
use session::PublicKey;
use simulator::testing::{Clock, Next};
use units::{Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::packet::Packet;

use crate::support::{Received, Traffic, WALL, build, datagram};

pub(crate) const NAMES: [&str; 4] = ["gateway", "one", "two", "three"];
const DELAY: Duration = Duration::from_millis(5);
const TICK: Duration = Duration::from_millis(10);
/// Of so many datagrams of each path, one is lost.
const LOST: u64 = 13;
/// Packets of the gateway to each mobile host that is fed, each tick.
const FEED: usize = 4;

fn at(second: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(second)
}

fn place(index: usize) -> HopAddress {
    HopAddress::Udp(([10, 0, 0, index as u8 + 1], 5000).into())
}

pub(crate) fn mobile(index: usize) -> Peer {
    Peer {
        tcp: TcpTerms::Choose(TcpMethod::Arq),
        ..build::peer(NAMES[index], &[(&format!("10.9.0.{index}"), 32)])
    }
}

pub(crate) fn gateway(peers: Vec<Peer>) -> Config {
    Config {
        memory: Some(Bytes::mebi(256)),
        ..build::config(Role::Gateway, NAMES[0], peers)
    }
}

pub(crate) fn admit(peer: Peer) -> Input {
    Input::Admit {
        peer: Box::new(peer),
        scope: None,
    }
}

fn revoke(index: usize) -> Input {
    Input::Revoke(
        build::private_key(NAMES[index]).public_key(),
        Decline::Revoked,
    )
}

/// A gateway that knows two of three mobile hosts, on a hop where each path loses datagrams by its own count.
pub(crate) struct Net {
    pub(crate) hosts: Vec<Host>,
    pub(crate) clock: Clock<(usize, Input)>,
    /// Datagrams of each mobile host, from it and to it.
    sent: [[u64; 2]; 4],
    traffic: Vec<Traffic>,
    pub(crate) received: Vec<Received>,
    events: Vec<Event>,
    /// Events of the mobile hosts.
    own_events: [Vec<EventKind>; 4],
    /// Claims that each host has passed on: the known key, and the next one.
    pub(crate) claimed: [Vec<(PublicKey, PublicKey)>; 4],
    /// Outputs that concern each mobile host: time, sender, and bytes of a datagram, or the packet.
    log: [Vec<(Instant, usize, Vec<u8>)>; 4],
    /// True if nothing of the gateway comes through.
    is_cut: bool,
}

impl Net {
    pub(crate) fn new(config: &Config) -> Self {
        let host = |index: usize| {
            let gateway = Peer {
                endpoint: Some(place(0)),
                ..build::peer(NAMES[0], &[("0.0.0.0", 0)])
            };
            let config = match index {
                0 => config.clone(),
                _ => build::config(Role::Mobile, NAMES[index], vec![gateway]),
            };
            build::host(config, build::entropy(9, NAMES[index]))
        };
        let mut net = Self {
            hosts: (0..4).map(host).collect(),
            clock: Clock::new(Instant::ZERO),
            sent: [[0; 2]; 4],
            traffic: (0..4).map(Traffic::bulk).collect(),
            received: vec![Received::begin(); 4],
            events: Vec::new(),
            own_events: <[Vec<_>; 4]>::default(),
            claimed: <[Vec<_>; 4]>::default(),
            log: <[Vec<_>; 4]>::default(),
            is_cut: false,
        };
        for index in 0..4 {
            net.input(index, Input::Wall(WALL));
        }
        net
    }

    pub(crate) fn input(&mut self, index: usize, input: Input) {
        self.hosts[index].handle_input(self.clock.now, input);
        self.drain(index);
    }

    fn drain(&mut self, from: usize) {
        while let Some(output) = self.hosts[from].poll_output() {
            let now = self.clock.now;
            match output {
                Output::Datagram { to, buffer, .. } => {
                    let to = (0..4).find(|index| place(*index) == to).expect("a host");
                    // Keys are drawn from one source for all peers, so only the lengths can be compared.
                    let length = buffer.len().to_le_bytes().to_vec();
                    self.log[from.max(to)].push((now, from, length));
                    let count = &mut self.sent[from.max(to)][usize::from(from == 0)];
                    *count += 1;
                    let is_lost = count.is_multiple_of(LOST) || (self.is_cut && from == 0);
                    if !is_lost {
                        let datagram = datagram(place(from), now + DELAY, buffer);
                        self.clock.add_after(DELAY, (to, datagram));
                    }
                }
                Output::Packet(packet) => {
                    let whose = if from == 0 { owner(&packet) } else { from };
                    self.log[whose].push((now, from, packet.to_vec()));
                    self.received[whose].note(&packet);
                }
                Output::Event(event) if from == 0 => self.events.push(event),
                Output::Event(event) => self.own_events[from].push(event.kind),
                Output::System(_)
                | Output::Seek { .. }
                | Output::Resolvers(_)
                | Output::Exits { .. }
                | Output::HandedOver(_)
                | Output::Told => {}
                Output::Claim { of, key } => self.claimed[from].push((of, key)),
            }
        }
    }

    /// Runs until `end`, and feeds these mobile hosts on the way.
    pub(crate) fn run_until(&mut self, end: u64, fed: &[usize]) {
        let end = Instant::from_millis(end);
        while self.clock.now < end {
            for index in fed {
                for _ in 0..self.wanted(*index) {
                    let packet = self.packet(*index);
                    self.input(0, Input::Packet(packet));
                }
            }
            let tick = (self.clock.now + TICK).min(end);
            loop {
                let deadlines = self.hosts.iter().filter_map(Machine::poll_timeout);
                match self.clock.advance(tick, deadlines.min()) {
                    Next::Event((to, datagram)) => self.input(to, datagram),
                    Next::Deadline => {
                        for index in 0..4 {
                            self.hosts[index].handle_timeout(self.clock.now);
                            self.drain(index);
                        }
                    }
                    Next::End => break,
                }
            }
        }
    }

    /// Returns the number of packets that the gateway gets for a mobile host now: none before it is connected for the
    /// first time, or while many wait.
    fn wanted(&self, to: usize) -> usize {
        let status = self.hosts[0].status(self.clock.now);
        let peer = status.peers.iter().find(|peer| peer.name == NAMES[to]);
        let is_full = peer.is_some_and(|peer| peer.hop.queued > Bytes::kibi(64));
        let is_early = self.clock.now < Instant::from_millis(500);
        if is_full || is_early { 0 } else { FEED }
    }

    fn packet(&mut self, to: usize) -> Packet {
        let mut packet = self.traffic[to].full_packet();
        packet.rewrite(|bytes| bytes[16..20].copy_from_slice(&[10, 9, 0, to as u8]));
        packet
    }

    fn peers(&self) -> Vec<String> {
        let status = self.hosts[0].status(self.clock.now);
        status.peers.into_iter().map(|peer| peer.name).collect()
    }

    pub(crate) fn is_connected(&self, name: &str) -> bool {
        let status = self.hosts[0].status(self.clock.now);
        let peer = status.peers.iter().find(|peer| peer.name == name);
        let registration = peer.map(|peer| peer.registration);
        matches!(registration, Some(Registration::Registered { .. }))
    }

    /// Returns the events of a mobile host that have this name.
    pub(crate) fn kinds_at(&self, mobile: usize, name: &str) -> Vec<EventKind> {
        let own = self.own_events[mobile].iter();
        own.filter(|kind| kind.name() == name).cloned().collect()
    }

    pub(crate) fn kinds(&self, name: &str) -> Vec<EventKind> {
        let own = self.events.iter().filter(|event| event.peer == name);
        own.map(|event| event.kind.clone()).collect()
    }
}

/// Returns the mobile host whose inner address a packet has as its source.
fn owner(packet: &Packet) -> usize {
    usize::from(packet[15])
}

/// A revoked peer, an added one, one that changes in place and one that begins anew cost the others nothing.
#[test]
fn a_change_of_one_peer_changes_no_output_of_the_others() {
    let run = |changes: bool| {
        let mut net = Net::new(&gateway(vec![mobile(1), mobile(2)]));
        let other = Peer {
            prefixes: vec![("10.9.0.77".parse().expect("an address"), 32)],
            weight: 3,
            ..mobile(2)
        };
        let anew = Peer {
            tcp: TcpTerms::Choose(TcpMethod::Plain),
            ..mobile(2)
        };
        let script = [
            (1_000, admit(mobile(3))),
            (2_003, revoke(2)),
            (3_000, admit(mobile(2))),
            (4_500, admit(other)),
            (5_501, admit(anew)),
            (6_000, revoke(3)),
        ];
        for (at, input) in script {
            net.run_until(at, &[1, 2]);
            if changes {
                net.input(0, input);
            }
        }
        net.run_until(8_000, &[1, 2]);
        net
    };
    let (quiet, changed) = (run(false), run(true));
    assert!(quiet.received[1].packets > 2_000 && quiet.received[1].in_order);
    assert!(!quiet.is_connected("three") && quiet.is_connected("two"));
    assert_eq!(changed.received[1].packets, quiet.received[1].packets);
    assert!(
        changed.log[1] == quiet.log[1],
        "the first of them knows of the others"
    );
    assert!(changed.log[2] != quiet.log[2]);
    let of_third = changed.kinds("three");
    assert_eq!(of_third.first(), Some(&EventKind::Admitted));
    assert!(of_third.contains(&EventKind::Established { fresh: true }));
    assert_eq!(of_third.last(), Some(&EventKind::Revoked));
    let of_second = changed.kinds("two");
    for kind in [
        EventKind::Revoked,
        EventKind::Admitted,
        EventKind::Changed { anew: false },
        EventKind::Changed { anew: true },
    ] {
        assert!(of_second.contains(&kind), "{kind:?} of {of_second:?}");
    }
    assert!(changed.is_connected("two"));
    assert_eq!(changed.peers(), ["one", "two"]);
}

#[test]
fn a_revoked_peer_gets_nothing_but_the_reason_even_if_the_goodbye_is_lost() {
    let mut net = Net::new(&gateway(vec![mobile(1), mobile(2)]));
    net.run_until(1_000, &[1, 2]);
    assert!(net.is_connected("two"));
    net.is_cut = true;
    net.input(0, revoke(2));
    net.run_until(1_100, &[]);
    net.is_cut = false;
    let (answers, forwarded) = (net.sent[2][1], net.log[2].len());
    let mut upload = Traffic::upload(7);
    for step in 0..100 {
        let mut packet = upload.full_packet();
        packet.rewrite(|bytes| bytes[12..16].copy_from_slice(&[10, 9, 0, 2]));
        net.input(2, Input::Packet(packet));
        net.run_until(1_100 + 100 * (step + 1), &[1, 2]);
    }
    let answers = net.sent[2][1] - answers;
    assert!((1..=3).contains(&answers), "it is told why: {answers}");
    let passed = net.log[2][forwarded..].iter();
    let passed = passed.filter(|(_, from, _)| *from == 0);
    assert_eq!(passed.count() as u64, answers as u64);
    let status = net.hosts[0].status(net.clock.now);
    assert!(status.packets_unroutable >= 4_000);
    assert_eq!(net.peers(), ["one"]);
    assert!(net.received[1].in_order);
    let alone = Net::new(&gateway(vec![mobile(1)]));
    let most = |net: &Net| net.hosts[0].memory().1;
    assert_eq!(most(&net), most(&alone));
}

#[test]
fn a_revoked_peer_learns_of_it_and_may_be_admitted_again() {
    let mut net = Net::new(&gateway(vec![mobile(1), mobile(2)]));
    net.run_until(1_000, &[1, 2]);
    net.input(0, revoke(2));
    net.run_until(1_020, &[]);
    let status = net.hosts[2].status(net.clock.now);
    let registration = status.peers[0].registration;
    assert!(
        matches!(registration, Registration::Left { .. }),
        "{registration:?}"
    );
    net.run_until(4_000, &[]);
    assert!(!net.is_connected("two"));
    net.input(0, admit(mobile(2)));
    net.run_until(10_000, &[]);
    assert!(net.is_connected("two"));
}

#[test]
fn inner_addresses_change_hands_while_both_stay_connected() {
    let mut net = Net::new(&gateway(vec![mobile(1), mobile(2)]));
    net.run_until(1_000, &[]);
    let age = |net: &Net, index: usize| net.hosts[0].status(net.clock.now).peers[index].keys_age;
    let before = [age(&net, 0), age(&net, 1)];
    let swapped = |index: usize| Peer {
        prefixes: mobile(3 - index).prefixes,
        ..mobile(index)
    };
    for index in [1, 2] {
        net.input(0, admit(swapped(index)));
    }
    for index in [1, 2] {
        let packet = net.packet(index);
        net.input(0, Input::Packet(packet));
    }
    net.run_until(1_500, &[]);
    for (index, before) in before.into_iter().enumerate() {
        assert!(age(&net, index) > before, "peer {index} begins anew");
    }
    for index in [1, 2] {
        let got: Vec<_> = net.log[index]
            .iter()
            .filter(|(_, _, bytes)| bytes.len() > 100)
            .collect();
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].2[16..20], [10, 9, 0, 3 - index as u8]);
    }
    assert_eq!(
        net.kinds("one").last(),
        Some(&EventKind::Changed { anew: false })
    );
}

#[test]
fn what_cannot_be_admitted_changes_nothing() {
    let mut config = gateway(vec![mobile(1)]);
    config.memory = Some(config.memory_least());
    let mut net = Net::new(&config);
    net.run_until(500, &[]);
    let own = Peer {
        public: build::private_key(NAMES[0]).public_key(),
        ..mobile(2)
    };
    let larger = Peer {
        tcp: TcpTerms::Choose(TcpMethod::Snoop),
        ..mobile(1)
    };
    let split = Input::Admit {
        peer: Box::new(mobile(1)),
        scope: Some(Scope::Every),
    };
    for input in [admit(own), admit(mobile(2)), admit(larger), split] {
        net.input(0, input);
    }
    let refused = |kind: &EventKind| match kind {
        EventKind::NotAdmitted(error) => Some(*error),
        _ => None,
    };
    let all: Vec<_> = net
        .events
        .iter()
        .filter_map(|event| refused(&event.kind))
        .collect();
    assert!(
        matches!(
            all[..],
            [
                AdmitError::Session(session::PeerError::OwnKey),
                AdmitError::Memory(_),
                AdmitError::Memory(_),
                AdmitError::NoSplit
            ]
        ),
        "{all:?}"
    );
    assert_eq!(net.peers(), ["one"]);
    assert!(net.is_connected("one"));
    net.input(0, Input::Memory(Bytes::mebi(256)));
    net.input(0, admit(mobile(2)));
    net.run_until(6_000, &[1]);
    assert!(net.is_connected("two"));
    net.run_until(7_000, &[1, 2]);
    assert!(net.received[2].in_order && net.received[2].packets > 100);
}

/// An answer that comes late must not reach another peer.
#[test]
fn no_number_is_used_again() {
    let config = build::config(Role::Mobile, "one", vec![]);
    let mut host = build::host(config, build::entropy(9, "one"));
    host.handle_input(Instant::ZERO, Input::Wall(WALL));
    let peer = |name: &str| Peer {
        endpoint: Some(place(0)),
        ..build::peer(name, &[("0.0.0.0", 0)])
    };
    let sought = |host: &mut Host, name: &str| {
        host.handle_input(at(1), admit(peer(name)));
        for second in 1..60 {
            host.handle_timeout(at(second));
            while let Some(output) = host.poll_output() {
                if let Output::Seek { peer } = output {
                    return peer;
                }
            }
        }
        panic!("'{name}' was not sought");
    };
    assert_eq!(sought(&mut host, "gateway"), 0);
    let key = build::private_key("gateway").public_key();
    host.handle_input(at(60), Input::Revoke(key, Decline::Revoked));
    while host.poll_output().is_some() {}
    host.handle_input(at(60), admit(peer("another")));
    while host.poll_output().is_some() {}
    let stale = place(3);
    let found = Input::Found { peer: 0, at: stale };
    host.handle_input(at(61), found);
    for second in 61..120 {
        host.handle_timeout(at(second));
        while let Some(output) = host.poll_output() {
            assert!(!matches!(output, Output::Datagram { to, .. } if to == stale));
            assert_ne!(output, Output::Seek { peer: 0 });
        }
    }
}

/// A gateway that runs for years has as many peers as it has now.
#[test]
fn peers_that_came_and_went_leave_nothing() {
    for shared_air in [None, Some(scheduler::Config::default())] {
        let config = Config {
            shared_air,
            ..gateway(vec![mobile(1)])
        };
        let mut host = build::host(config, build::entropy(9, NAMES[0]));
        host.handle_input(Instant::ZERO, Input::Wall(WALL));
        let round = |host: &mut Host, times: u64| {
            for second in 0..times {
                let now = at(second);
                for input in [admit(mobile(2)), admit(mobile(3)), revoke(2), revoke(3)] {
                    host.handle_input(now, input);
                    while host.poll_output().is_some() {}
                }
            }
        };
        round(&mut host, 100);
        let left = allocation_counter::measure(|| round(&mut host, 1_000));
        assert!(left.bytes_current < 4_096, "{left:?}");
    }
}

#[test]
fn a_gateway_whose_peers_change_keeps_the_contract() {
    let step = Duration::from_millis(300);
    let mut script = vec![(Duration::ZERO, Input::Wall(WALL))];
    let mut traffic = Traffic::bulk(1);
    for round in 0..40 {
        let inputs = [
            admit(mobile(1 + round % 3)),
            Input::Packet(traffic.full_packet()),
            revoke(1 + (round / 2) % 3),
            Input::Memory(Bytes::mebi(200 + round as u64)),
        ];
        script.extend(inputs.map(|input| (step, input)));
    }
    let build = || {
        let config = gateway(vec![mobile(1)]);
        build::host(config, build::entropy(9, NAMES[0]))
    };
    conformance::check(build, &script, Duration::from_secs(400));
}
