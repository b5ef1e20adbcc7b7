//! Connections that leave at the gateway where their mobile host is when they begin, and stay there.

use hosts::{GuestExits, Input};
use machine::RandomStream;
use units::{Duration, Probability};
use wire::ip::Protocol;
use wire::packet::{Checksum, Packet, PacketBuffer};

use crate::stand_in::{FAR, begun_with, cut_off, download, goes_on};
use crate::support::roaming::{HOME, NAMES, Roaming, Setting};
use crate::support::{MOBILE, WALL};

/// The flow from the mobile host.
const UP: usize = 1;
const SECOND: Duration = Duration::from_secs(1);

/// Returns a site whose gateways let connections of guests leave, with the mobile host at this gateway.
fn begun(at: usize) -> Roaming {
    let mut site = begun_with(Setting {
        wire: FAR,
        exits: GuestExits::ToInternet,
        ..Setting::default()
    });
    come_to(&mut site, at);
    site
}

fn come_to(site: &mut Roaming, at: usize) {
    site.move_to(at);
    site.run(SECOND, true);
    assert_eq!(site.serving(), NAMES[at], "{:?}", site.events);
}

/// The sites' connections assert that each of their packets leaves where the first one did.
#[test]
fn a_connection_leaves_where_it_began_wherever_its_mobile_host_goes() {
    for (start, places) in [
        (2, [3, HOME, 2, 3, HOME]),
        (3, [HOME, 2, HOME, 3, 2]),
        (HOME, [2, 3, HOME, 3, 2]),
    ] {
        let mut site = begun(start);
        download(&mut site, 1);
        for place in places {
            goes_on(&mut site);
            come_to(&mut site, place);
        }
        goes_on(&mut site);
        assert_eq!(site.exit(), Some(start));
        // The next one leaves where the mobile host is by then.
        download(&mut site, 2);
        goes_on(&mut site);
        assert_eq!(site.exit(), Some(places[4]));
    }
}

/// Nothing of it is lost, repeated or reordered, as what the former gateway had follows.
#[test]
fn a_move_costs_such_a_connection_no_more_than_any_other() {
    let mut site = begun(2);
    download(&mut site, 1);
    goes_on(&mut site);
    for place in [3, 2, 3, HOME, 3] {
        site.take_stall();
        come_to(&mut site, place);
        let stall = site.take_stall();
        // A round trip of the hop and one between gateways, and the way to the gateway where it leaves.
        assert!(stall < Duration::from_millis(100), "{stall}");
    }
    let counters = site.counters(HOME).expect("a connection");
    assert_eq!(counters.recovered.timeouts, 0, "{counters:?}");
}

/// Datagrams of a mobile host that has just come may have begun elsewhere.
#[test]
fn a_call_leaves_where_it_began_wherever_its_mobile_host_goes() {
    const BINDING: Duration = Duration::from_secs(300);
    let mut site = begun(2);
    site.flows[UP].become_call();
    let call_leaves_at = |site: &mut Roaming, at: usize, gateway: usize| {
        come_to(site, at);
        let lost = |site: &Roaming| site.flows[UP].sent - site.flows[UP].received.packets;
        let before = lost(site);
        site.run(SECOND, false);
        site.run(SECOND, true);
        assert_eq!(site.network.left_at, gateway, "{:?}", site.events);
        assert_eq!(lost(site), before);
    };
    for at in [2, 3, HOME, 2] {
        call_leaves_at(&mut site, at, HOME);
    }
    site.run(BINDING, true);
    for at in [2, 3, HOME, 3, 2] {
        call_leaves_at(&mut site, at, 2);
    }
    come_to(&mut site, 3);
    site.run(BINDING, true);
    for at in [3, 2] {
        call_leaves_at(&mut site, at, 3);
    }
}

/// A connection of QUIC says that it begins, as one of TCP does.
#[test]
fn a_connection_of_quic_leaves_where_it_began() {
    let mut site = begun(2);
    let follows = |site: &mut Roaming, port: u8| {
        site.input(MOBILE, Input::Packet(quic(port, 40)));
        site.run(SECOND / 10, true);
    };
    let asks = |site: &mut Roaming, port: u8| {
        site.input(MOBILE, Input::Packet(quic(port, 1_200)));
        site.run(SECOND / 10, true);
        follows(site, port);
    };
    asks(&mut site, 1);
    assert_eq!(site.network.left_at, 2);
    // No other datagram to that host.
    follows(&mut site, 2);
    assert_eq!(site.network.left_at, HOME);
    come_to(&mut site, 3);
    follows(&mut site, 1);
    assert_eq!(site.network.left_at, 2);
    asks(&mut site, 3);
    assert_eq!(site.network.left_at, 3);
    come_to(&mut site, HOME);
    follows(&mut site, 3);
    assert_eq!(site.network.left_at, 3);
    asks(&mut site, 4);
    assert_eq!(site.network.left_at, HOME);
}

/// Returns a datagram from this port of the mobile host, with so many bytes; one of 1,200 is an Initial packet.
fn quic(port: u8, payload: usize) -> Packet {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, Protocol::UDP.0, 0, 0];
    bytes[2..4].copy_from_slice(&(28 + payload as u16).to_be_bytes());
    bytes.extend([10, 9, 0, 2, 192, 0, 2, 1, 200, port, 1, 187]);
    bytes.extend((8 + payload as u16).to_be_bytes());
    bytes.extend([0, 0]);
    let first = if payload < 1_200 { 0x40 } else { 0xc0 };
    bytes.extend([first, 0, 0, 0, 1]);
    bytes.resize(28 + payload, 0);
    let mut packet = Packet::new(PacketBuffer::copy_of(&bytes));
    packet.checksum = Checksum::Verified;
    packet
}

/// Its binding is lost, so the connection ends at once, and does not hang.
#[test]
fn a_connection_ends_with_the_gateway_where_it_leaves() {
    let mut site = begun(2);
    download(&mut site, 1);
    goes_on(&mut site);
    come_to(&mut site, 3);
    goes_on(&mut site);
    cut_off(&mut site, 2);
    site.run(SECOND * 4, true);
    assert!(site.is_connected());
    site.network.cut.clear();
    site.may_reset = true;
    site.restart(2, WALL + 1_000_000_000, None);
    site.run(SECOND * 10, true);
    assert!(!site.is_connected(), "{:?}", site.events);
    download(&mut site, 2);
    goes_on(&mut site);
    assert_eq!(site.exit(), Some(3));
}

/// What the system is ready for ends when nothing needs it.
#[test]
fn a_gateway_keeps_nothing_of_connections_that_have_ended() {
    let mut site = begun(2);
    assert!(site.asked.exits[2]);
    come_to(&mut site, 3);
    site.input(2, Input::Wall(WALL));
    assert!(!site.asked.exits[2] && site.asked.exits[3]);
    come_to(&mut site, 2);
    download(&mut site, 1);
    goes_on(&mut site);
    come_to(&mut site, 3);
    site.input(2, Input::Wall(WALL));
    assert!(site.asked.exits[2]);
    goes_on(&mut site);
}

/// Moves at random times, also before the last one is complete, on hops and wires that lose datagrams.
#[test]
fn a_connection_survives_moves_at_random_times() {
    for seed in 1..=12 {
        let mut random = RandomStream::named(seed, "moves");
        let mut site = begun_with(Setting {
            seed,
            wire: FAR,
            loss: Probability::ratio(seed % 4 * 2, 100),
            exits: GuestExits::ToInternet,
            ..Setting::default()
        });
        for wire in &mut site.network.wires[HOME..] {
            wire.1 = Probability::ratio(seed % 3, 100);
        }
        site.move_to(2);
        site.run(SECOND * 4, true);
        download(&mut site, 1);
        // Its first segment may be lost, before anything is known of the hop.
        site.run(SECOND * 3, true);
        for _ in 0..20 {
            site.move_to(HOME + random.below(3) as usize);
            site.run(Duration::from_millis(random.below(1_500)), true);
        }
        site.run(SECOND * 5, true);
        let before = site.read();
        site.run(SECOND, true);
        assert!(site.is_connected(), "{seed}: {:?}", site.events);
        assert!(site.read() > before + 100_000, "{seed}: {:?}", site.events);
        assert_eq!(site.exit(), Some(2), "{seed}");
    }
}
