//! One gateway, two mobiles: what belongs to one cannot be taken by the other.

use hosts::{Host, Input, Output, Peer, Role};
use machine::{Machine, RandomStream};
use simulator::testing::{Clock, Next};
use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::packet::{Packet, PacketBuffer};

use crate::support::{Received, Traffic, build, datagram, port_of};

const NAMES: [&str; 3] = ["gateway", "one", "two"];
const PLACES: [&str; 3] = ["10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3"];
const INNER: [&str; 3] = ["", "10.9.0.2", "10.9.0.3"];
const DELAY: Duration = Duration::from_millis(5);

fn place(index: usize) -> HopAddress {
    PLACES[index].parse().expect("an address")
}

fn host(index: usize) -> Host {
    let mobile = |index: usize| build::peer(NAMES[index], &[(INNER[index], 32)]);
    let gateway = || Peer {
        endpoint: Some(place(0)),
        ..build::peer(NAMES[0], &[("0.0.0.0", 0)])
    };
    let (role, peers) = match index {
        0 => (Role::Gateway, vec![mobile(1), mobile(2)]),
        _ => (Role::Mobile, vec![gateway()]),
    };
    let config = build::config(role, NAMES[index], peers);
    build::host(config, build::entropy(9, NAMES[index]))
}

/// A gateway and its mobiles on a hop that only delays.
struct Net {
    hosts: [Host; 3],
    clock: Clock<(usize, Input)>,
    packets: [Vec<Packet>; 3],
}

impl Net {
    /// All connected.
    fn new() -> Self {
        let mut net = Self {
            hosts: [host(0), host(1), host(2)],
            clock: Clock::new(Instant::ZERO),
            packets: <[Vec<Packet>; 3]>::default(),
        };
        for index in 0..3 {
            net.input(index, Input::Wall(1_800_000_000_000_000_000));
        }
        net.run_for(Duration::from_secs(1));
        net
    }

    fn input(&mut self, index: usize, input: Input) {
        self.hosts[index].handle_input(self.clock.now, input);
        self.drain(index);
    }

    fn drain(&mut self, from: usize) {
        while let Some(output) = self.hosts[from].poll_output() {
            match output {
                Output::Datagram { to, buffer, .. } => {
                    let to = (0..3).find(|index| place(*index) == to).expect("a host");
                    let datagram = datagram(place(from), self.clock.now + DELAY, buffer);
                    self.clock.add_after(DELAY, (to, datagram));
                }
                Output::Packet(packet) => self.packets[from].push(packet),
                Output::Event(_)
                | Output::System(_)
                | Output::Seek { .. }
                | Output::Claim { .. }
                | Output::Resolvers(_)
                | Output::Exits { .. }
                | Output::HandedOver(_)
                | Output::Told => {}
            }
        }
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.clock.now + span;
        loop {
            let deadlines = self.hosts.iter().filter_map(Machine::poll_timeout);
            match self.clock.advance(end, deadlines.min()) {
                Next::Event((to, datagram)) => self.input(to, datagram),
                Next::Deadline => {
                    for index in 0..3 {
                        self.hosts[index].handle_timeout(self.clock.now);
                        self.drain(index);
                    }
                }
                Next::End => return,
            }
        }
    }

    fn refused(&self, peer: usize) -> u64 {
        self.hosts[0].status(self.clock.now).peers[peer - 1].packets_refused
    }
}

/// The next packet of `traffic`, as if the second mobile's: its inner address in place of the first's.
fn as_second(traffic: &mut Traffic) -> Packet {
    let mut packet = traffic.full_packet();
    let field = if traffic.from == 0 { 12..16 } else { 16..20 };
    packet.rewrite(|bytes| bytes[field].copy_from_slice(&[10, 9, 0, 3]));
    packet
}

#[test]
fn each_mobile_gets_its_own() {
    let mut net = Net::new();
    let (mut first, mut second) = (Traffic::bulk(1), Traffic::bulk(2));
    for _ in 0..20 {
        net.input(0, Input::Packet(first.full_packet()));
        let packet = as_second(&mut second);
        net.input(0, Input::Packet(packet));
    }
    net.run_for(Duration::from_secs(2));
    for (host, port) in [(1, 1), (2, 2)] {
        let mut received = Received::begin();
        for packet in &net.packets[host] {
            assert_eq!(port_of(packet), port);
            received.note(packet);
        }
        assert!(received.in_order && received.packets == 20, "{received:?}");
    }
}

#[test]
fn the_address_of_another_cannot_be_used() {
    let mut net = Net::new();
    let (mut stolen, mut genuine) = (Traffic::upload(1), Traffic::upload(2));
    for _ in 0..10 {
        // The second mobile sends with the first one's inner address, and with its own.
        net.input(2, Input::Packet(stolen.full_packet()));
        let packet = as_second(&mut genuine);
        net.input(2, Input::Packet(packet));
    }
    net.run_for(Duration::from_secs(2));
    assert_eq!(net.packets[0].len(), 10);
    assert!(net.packets[0].iter().all(|packet| port_of(packet) == 2));
    assert_eq!((net.refused(1), net.refused(2)), (0, 10));
}

#[test]
fn what_belongs_to_nobody_goes_nowhere() {
    let mut net = Net::new();
    let mut packet = Traffic::bulk(1).full_packet();
    packet.rewrite(|bytes| bytes[16..20].copy_from_slice(&[10, 9, 0, 4]));
    net.input(0, Input::Packet(packet));
    net.run_for(Duration::from_secs(1));
    assert!(net.packets[1].is_empty() && net.packets[2].is_empty());
    assert_eq!(net.hosts[0].status(net.clock.now).packets_unroutable, 1);
}

#[test]
fn a_stranger_gets_no_answer() {
    let mut net = Net::new();
    let stranger: HopAddress = "203.0.113.5:5".parse().expect("an address");
    let mut stream = RandomStream::named(1, "stranger");
    for kind in 0..=255_u8 {
        for length in [0, 1, 4, 32, 60, 92, 148, 160, 1_400] {
            let mut bytes = vec![0; length];
            stream.fill(&mut bytes);
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            let input = datagram(stranger, net.clock.now, PacketBuffer::copy_of(&bytes));
            net.hosts[0].handle_input(net.clock.now, input);
            assert_eq!(net.hosts[0].poll_output(), None, "an answer to kind {kind}");
        }
    }
    let status = net.hosts[0].status(net.clock.now);
    let dropped: u64 = status
        .datagrams_dropped
        .iter()
        .map(|(_, count)| count)
        .sum();
    assert_eq!(dropped, 256 * 9);
}
