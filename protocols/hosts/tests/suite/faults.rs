//! Faults in the middle of a transfer: fades of minutes, restarts, and datagrams that nobody sent.

use hosts::EventKind;
use proptest::prelude::*;
use units::{Duration, Instant};

use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);

/// Bulk both ways, for five seconds.
fn transfer(link: &str) -> Pair {
    let mut pair = Pair::new(link, 3);
    pair.add(Traffic::bulk(1));
    pair.add(Traffic::upload(2));
    pair.run_for(SECOND * 5);
    pair
}

#[test]
fn a_fade_of_five_minutes_loses_nothing() {
    let mut pair = transfer("l2-clean");
    pair.blackout = pair.now..pair.now + SECOND * 300;
    pair.run_for(SECOND * 300);
    let expired = |(_, _, kind): &&(Instant, usize, EventKind)| *kind == EventKind::Expired;
    assert!(
        pair.events.iter().filter(expired).count() >= 2,
        "{:?}",
        pair.events
    );
    let before = [1, 2].map(|port| pair.received(port).payload);
    pair.run_for(SECOND * 10);
    for (port, before) in [1, 2].into_iter().zip(before) {
        let received = pair.received(port);
        assert!(received.in_order, "port {port}");
        let news = received.payload - before;
        assert!(
            news > 10_000_000,
            "port {port}: {news} bytes in the 10 s after the fade"
        );
    }
}

#[test]
fn either_host_may_restart() {
    for (port, host) in [(3, MOBILE), (4, GATEWAY)] {
        let mut pair = transfer("l2-clean");
        pair.stop();
        pair.restart(host);
        pair.run_for(SECOND * 40);
        // A flow of before may have lost what was on its way; a new one runs as on a new pair.
        pair.add(Traffic::bulk(port));
        pair.run_for(SECOND * 5);
        let received = pair.received(port);
        assert!(received.in_order, "{:?}", pair.events);
        assert!(received.payload > 9_000_000, "{} bytes", received.payload);
    }
}

#[test]
fn a_mobile_that_moves_is_followed() {
    let mut pair = transfer("l2-clean");
    let elsewhere = "10.0.0.77:1234".parse().expect("an address");
    let datagrams = pair
        .recent
        .iter()
        .rev()
        .find(|(to, _)| *to == GATEWAY)
        .cloned();
    let (_, stale) = datagrams.expect("a datagram");
    pair.run_for(SECOND);
    // What was seen before moves nothing.
    pair.inject(GATEWAY, elsewhere, &stale);
    assert_eq!(pair.status(GATEWAY).endpoint, Some(pair.address(MOBILE)));
}

/// An attack on a datagram of the transfer.
#[derive(Debug, Clone)]
enum Attack {
    Flip { place: usize, bits: u8 },
    Truncate { length: usize },
    Extend { by: usize },
    Replay,
    Reflect,
    Foreign { bytes: Vec<u8> },
}

fn attack() -> impl Strategy<Value = Attack> {
    prop_oneof![
        (any::<usize>(), 1..=255_u8).prop_map(|(place, bits)| Attack::Flip { place, bits }),
        any::<usize>().prop_map(|length| Attack::Truncate { length }),
        (1..40_usize).prop_map(|by| Attack::Extend { by }),
        Just(Attack::Replay),
        Just(Attack::Reflect),
        proptest::collection::vec(any::<u8>(), 0..1_500)
            .prop_map(|bytes| Attack::Foreign { bytes }),
    ]
}

/// Carries out an attack on a recent datagram, from the genuine address or from another.
fn strike(pair: &mut Pair, attack: &Attack, (which, foreign): (usize, bool)) {
    let (to, datagram) = pair.recent[which % pair.recent.len()].clone();
    let mut bytes = datagram.to_vec();
    let mut host = to;
    match attack {
        Attack::Flip { place, bits } => {
            let place = place % bytes.len();
            bytes[place] ^= bits;
        }
        Attack::Truncate { length } => bytes.truncate(length % bytes.len()),
        Attack::Extend { by } => bytes.extend(vec![0; *by]),
        Attack::Replay => pair.run_for(SECOND / 2),
        Attack::Reflect => host = 1 - to,
        Attack::Foreign { bytes: own } => bytes.clone_from(own),
    }
    let stranger = "203.0.113.9:9".parse().expect("an address");
    let from = if foreign {
        stranger
    } else {
        pair.address(1 - host)
    };
    pair.inject(host, from, &bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_that_nobody_sent_disturbs_a_transfer(
        attacks in proptest::collection::vec((attack(), any::<usize>(), any::<bool>()), 1..30),
    ) {
        let mut pair = Pair::new("l1-clean", 4);
        pair.add(Traffic::bulk(1));
        pair.add(Traffic::upload(2));
        pair.run_for(SECOND);
        for (attack, which, foreign) in &attacks {
            strike(&mut pair, attack, (*which, *foreign));
            pair.run_for(SECOND / 50);
        }
        let before = [1, 2].map(|port| pair.received(port).payload);
        pair.run_for(SECOND * 3);
        for (port, before) in [1, 2].into_iter().zip(before) {
            let received = pair.received(port);
            prop_assert!(received.in_order);
            let news = received.payload - before;
            prop_assert!(news > 400_000, "port {}: {} bytes in 3 s", port, news);
        }
        for host in [MOBILE, GATEWAY] {
            let hop = pair.status(host).hop;
            prop_assert_eq!(hop.stats.received.frames_malformed, 0);
            prop_assert_eq!(hop.stats.sent.acks_refused, 0);
            prop_assert_eq!(pair.status(host).packets_refused, 0);
            prop_assert_eq!(pair.status(host).endpoint, Some(pair.address(1 - host)));
        }
    }
}
