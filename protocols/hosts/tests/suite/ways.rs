//! A mobile host whose network lets no UDP through, but TLS.

use hosts::{EventKind, Input, TroubleCode};
use units::{BitRate, Duration, Instant};
use wire::address::HopAddress;

use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);
const BOTH: [bool; 2] = [true; 2];
const NONE: [bool; 2] = [false; 2];

/// A pair with both ways.
fn pair() -> Pair {
    let mut pair = Pair::with_tls("l2-clean", 7);
    pair.place.tls.rate = Some(BitRate::from_kilobits(2_000));
    pair.add(Traffic::bulk(1));
    pair.add(Traffic::upload(2));
    pair
}

/// Returns the endpoint of each host's peer.
fn endpoints(pair: &Pair) -> [Option<HopAddress>; 2] {
    [MOBILE, GATEWAY].map(|host| pair.status(host).endpoint)
}

fn tls() -> [Option<HopAddress>; 2] {
    [GATEWAY, MOBILE].map(|host| Some(Pair::tls_address(host)))
}

fn udp(pair: &Pair) -> [Option<HopAddress>; 2] {
    [GATEWAY, MOBILE].map(|host| Some(pair.address(host)))
}

/// Runs until a condition holds; returns the time that it took.
fn until(pair: &mut Pair, limit: Duration, holds: impl Fn(&Pair) -> bool) -> Duration {
    let start = pair.now;
    while !holds(pair) {
        assert!(
            pair.now.since(start) < limit,
            "not within {limit}: {:?}",
            endpoints(pair)
        );
        pair.run_for(Duration::from_millis(10));
    }
    pair.now.since(start)
}

/// Returns the number of events of the mobile host, by kind: it has fallen back, it has returned, it began anew.
fn changes(pair: &Pair) -> [usize; 3] {
    let mut counts = [0; 3];
    for (_, host, kind) in &pair.events {
        let which = match kind {
            EventKind::FellBack { .. } => 0,
            EventKind::Returned { .. } => 1,
            EventKind::Established { fresh: true } => 2,
            _ => continue,
        };
        counts[which] += usize::from(*host == MOBILE);
    }
    counts
}

/// Asserts that both flows go on, in order.
fn goes_on(pair: &mut Pair, span: Duration) {
    let before = [1, 2].map(|port| pair.received(port).payload);
    pair.run_for(span);
    for (port, before) in [1, 2].into_iter().zip(before) {
        let received = pair.received(port);
        assert!(received.payload > before, "nothing new on {port}");
        assert!(received.in_order);
    }
}

#[test]
fn udp_is_used_where_it_works_and_tls_is_left_alone() {
    let mut pair = pair();
    pair.run_for(SECOND * 60);
    assert_eq!(endpoints(&pair), udp(&pair));
    assert_eq!(
        (pair.place.tls.datagrams_beside, changes(&pair)),
        ([0; 2], [0, 0, 1])
    );
    assert_eq!(pair.status(MOBILE).trouble, None);
    // Nor while little happens, and the last datagram before each pause needs no answer.
    pair.stop();
    for _ in 0..20 {
        pair.add_requests(pair.now);
        pair.run_for(Duration::from_millis(350));
        pair.stop_requests();
        pair.run_for(SECOND * 30);
    }
    assert_eq!(pair.place.tls.datagrams_beside, [0; 2]);
}

#[test]
fn a_hop_begins_by_tls_where_udp_is_blocked_in_either_direction() {
    for blocks in [BOTH, [true, false], [false, true]] {
        let mut pair = pair();
        pair.place.tls.blocks_udp = blocks;
        let took = until(&mut pair, SECOND * 4, |pair| endpoints(pair) == tls());
        println!("{blocks:?}: by TLS after {took}");
        goes_on(&mut pair, SECOND * 5);
        assert_eq!(changes(&pair), [1, 0, 1], "{blocks:?}");
        let trouble = pair.status(MOBILE).trouble.expect("a trouble");
        assert_eq!(trouble.code, TroubleCode::UdpBlocked, "{trouble}");
    }
}

#[test]
fn a_hop_survives_the_loss_of_udp_and_returns_to_it() {
    let mut pair = pair();
    pair.run_for(SECOND * 5);
    pair.place.tls.blocks_udp = BOTH;
    let took = until(&mut pair, SECOND * 5, |pair| endpoints(pair) == tls());
    println!("by TLS after {took}");
    goes_on(&mut pair, SECOND * 100);
    let lost = std::mem::take(&mut pair.place.tls.by_udp);
    pair.run_for(SECOND * 300);
    let probes = pair.place.tls.by_udp[MOBILE];
    println!("{lost:?} datagrams by UDP at first, {probes} in 5 min");
    assert!((8..=12).contains(&probes), "{probes} probes in 5 min");
    pair.place.tls.blocks_udp = NONE;
    let took = until(&mut pair, SECOND * 31, |pair| endpoints(pair) == udp(pair));
    println!("by UDP again after {took}");
    goes_on(&mut pair, SECOND * 5);
    pair.place.tls.datagrams_beside = [0; 2];
    goes_on(&mut pair, SECOND * 60);
    assert_eq!(
        (pair.place.tls.datagrams_beside, changes(&pair)),
        ([0; 2], [1, 1, 1])
    );
}

/// The gateway is heard all the time, but does not hear, or the other way round.
#[test]
fn a_hop_survives_the_loss_of_udp_in_one_direction() {
    for blocks in [[true, false], [false, true]] {
        let mut pair = pair();
        pair.run_for(SECOND * 5);
        pair.place.tls.blocks_udp = blocks;
        let took = until(&mut pair, SECOND * 10, |pair| endpoints(pair) == tls());
        println!("{blocks:?}: by TLS after {took}");
        goes_on(&mut pair, SECOND * 5);
        pair.place.tls.blocks_udp = NONE;
        until(&mut pair, SECOND * 31, |pair| endpoints(pair) == udp(pair));
        goes_on(&mut pair, SECOND * 30);
        assert_eq!(changes(&pair), [1, 1, 1], "{blocks:?}");
    }
}

/// The network of this host has changed, so UDP may work at once.
#[test]
fn another_network_is_tried_by_udp_at_once() {
    let mut pair = pair();
    pair.place.tls.blocks_udp = BOTH;
    pair.run_for(SECOND * 200);
    assert_eq!(endpoints(&pair), tls());
    pair.place.tls.blocks_udp = NONE;
    pair.input(MOBILE, Input::LinkChanging);
    pair.input(MOBILE, Input::LinkUp);
    let took = until(&mut pair, SECOND, |pair| endpoints(pair) == udp(pair));
    println!("by UDP again after {took}");
    goes_on(&mut pair, SECOND * 5);
}

/// Both ways are gone and come back together: that is a fade, and no reason to leave UDP.
#[test]
fn a_fade_of_any_length_ends_by_udp() {
    for (length, first) in [
        (1, 5_000),
        (3, 5_100),
        (10, 5_200),
        (60, 5_300),
        (400, 5_400),
    ] {
        let mut pair = pair();
        pair.run_for(Duration::from_millis(first));
        pair.blackout = pair.now..pair.now + SECOND * length;
        pair.run_for(SECOND * (length + 8));
        goes_on(&mut pair, SECOND * 30);
        assert_eq!(endpoints(&pair), udp(&pair), "a fade of {length} s");
        assert_eq!(changes(&pair)[..2], [0, 0], "a fade of {length} s");
    }
}

#[test]
fn fades_while_tls_is_in_use_are_survived() {
    for length in [1, 5, 30, 200] {
        let mut pair = pair();
        pair.place.tls.blocks_udp = BOTH;
        pair.run_for(SECOND * 10);
        pair.blackout = pair.now..pair.now + SECOND * length;
        pair.run_for(SECOND * (length + 8));
        goes_on(&mut pair, SECOND * 5);
        assert_eq!(changes(&pair)[..2], [1, 0], "a fade of {length} s");
    }
}

/// TLS is lost too, as its port is blocked now; UDP is free again.
#[test]
fn a_hop_whose_tls_is_lost_finds_udp() {
    let mut pair = pair();
    pair.place.tls.blocks_udp = BOTH;
    pair.run_for(SECOND * 120);
    pair.place.tls.rate = None;
    pair.place.tls.blocks_udp = NONE;
    let took = until(&mut pair, SECOND * 16, |pair| endpoints(pair) == udp(pair));
    println!("by UDP again after {took}");
    goes_on(&mut pair, SECOND * 5);
}

#[test]
fn an_idle_hop_by_tls_does_not_probe_udp() {
    let mut pair = pair();
    pair.place.tls.blocks_udp = BOTH;
    pair.run_for(SECOND * 20);
    pair.stop();
    pair.run_for(SECOND * 60);
    pair.place.tls.by_udp = [0; 2];
    pair.place.tls.datagrams_beside = [0; 2];
    pair.run_for(SECOND * 600);
    // New keys each two minutes are traffic, and are followed by a probe or two.
    let probes = pair.place.tls.by_udp[MOBILE];
    println!(
        "{probes} probes, {:?} by TLS",
        pair.place.tls.datagrams_beside
    );
    assert!(probes <= 12, "{probes} probes in 10 min");
}

/// UDP that works for some seconds at a time is left alone for ever longer.
#[test]
fn ways_do_not_flap() {
    let mut pair = pair();
    pair.run_for(SECOND * 5);
    for _ in 0..40 {
        pair.place.tls.blocks_udp = BOTH;
        pair.run_for(SECOND * 5);
        pair.place.tls.blocks_udp = NONE;
        pair.run_for(SECOND * 5);
    }
    let [fell, returned, fresh] = changes(&pair);
    println!("{fell} times by TLS, {returned} times back, in 400 s");
    assert!(fell <= 20, "fell back {fell} times in 400 s");
    assert_eq!(fresh, 1);
    goes_on(&mut pair, SECOND * 40);
    assert_eq!(endpoints(&pair), udp(&pair));
}

/// A refusal by the network hastens the first try.
#[test]
fn refused_datagrams_hasten_tls() {
    let mut pair = pair();
    pair.place.tls.blocks_udp = BOTH;
    pair.run_for(Duration::from_millis(600));
    let at = pair.address(GATEWAY);
    pair.input(MOBILE, Input::PortRefused(at));
    let took = until(&mut pair, SECOND * 2, |pair| endpoints(pair)[0] == tls()[0]);
    println!("by TLS after {took}");
    assert!(took < SECOND);
}

/// Without a port for TLS nothing of it happens, whatever comes from such addresses.
#[test]
fn a_gateway_without_a_port_for_tls_is_never_asked_there() {
    let mut pair = Pair::new("l2-clean", 7);
    pair.add(Traffic::bulk(1));
    pair.place.tls.rate = Some(BitRate::from_kilobits(2_000));
    pair.place.tls.blocks_udp = BOTH;
    pair.run_for(SECOND * 60);
    assert_eq!(pair.place.tls.datagrams_beside, [0; 2]);
    assert_eq!(pair.now, Instant::ZERO + SECOND * 60);
}
