//! The status of a host: its keys, its limit of memory, and its choice where TCP is split.

use channel::Link;
use hosts::{Input, Profile};
use units::Duration;

use crate::support::{GATEWAY, MOBILE, Pair, Traffic, WALL};

fn link() -> Link {
    Link::named("l2-clean").expect("a link")
}

#[test]
fn the_limit_of_memory_counts_streams_before_the_first_handshake() {
    let mut pair = Pair::with_streams(link(), 5, (Profile::Wide, false));
    let limit = |pair: &Pair, host: usize| pair.hosts[host].memory().1;
    let at_first = [GATEWAY, MOBILE].map(|host| limit(&pair, host));
    let without = Pair::new("l2-clean", 5);
    assert!(at_first[0] > limit(&without, GATEWAY));
    pair.run_for(Duration::from_secs(1));
    assert_eq!([GATEWAY, MOBILE].map(|host| limit(&pair, host)), at_first);
}

#[test]
fn a_status_has_the_choice_between_packets_and_streams_where_there_is_one() {
    let (mut with, mut without) = (Pair::with_choice(link(), 5), Pair::new("l2-clean", 5));
    for pair in [&mut with, &mut without] {
        pair.run_for(Duration::from_secs(1));
    }
    for host in [GATEWAY, MOBILE] {
        assert!(with.status(host).choice.is_some());
        assert!(without.status(host).choice.is_none());
    }
}

#[test]
fn a_clock_that_is_set_again_brings_no_host_back_that_has_left() {
    let mut pair = Pair::new("l2-clean", 5);
    pair.run_for(Duration::from_secs(1));
    pair.input(MOBILE, Input::Leave);
    pair.run_for(Duration::from_secs(1));
    pair.input(MOBILE, Input::Wall(WALL + pair.now.as_nanos()));
    pair.run_for(Duration::from_secs(10));
    for host in [GATEWAY, MOBILE] {
        assert_eq!(pair.status(host).keys_age, None);
    }
}

/// Both ends count the same traffic, each by what it knows: the receiver by packets, the sender by acknowledgements.
#[test]
fn a_status_has_the_rates_of_the_last_seconds() {
    let mut pair = Pair::new("l2-b80", 5);
    pair.add(Traffic::bulk(1));
    pair.add(Traffic::upload(2));
    let span = Duration::from_secs(3);
    for _ in 0..5 {
        let before = [1, 2].map(|port| pair.received(port).payload);
        pair.run_for(span);
        let carried = [1, 2].map(|port| pair.received(port).payload);
        let rates = [GATEWAY, MOBILE].map(|host| pair.status(host).recent);
        let [gateway, mobile] = rates;
        for (index, sent, received) in [(0, gateway, mobile), (1, mobile, gateway)] {
            let counted = (carried[index] - before[index]) as f64 * 8.0 / span.as_secs_f64();
            assert!(counted > 1e6, "{counted}");
            for rate in [sent.to_peer_bits_per_s, received.from_peer_bits_per_s] {
                let ratio = rate as f64 / counted;
                assert!((0.8..1.25).contains(&ratio), "{ratio}: {rates:?}");
            }
            assert!(sent.frames_lost_on_air > 0 && sent.frames_lost_on_air < sent.frames_sent / 2);
        }
    }
    let ends = pair.now + span;
    pair.blackout = pair.now..ends;
    pair.run_for(span);
    for host in [GATEWAY, MOBILE] {
        let recent = pair.status(host).recent;
        let rates = [recent.to_peer_bits_per_s, recent.from_peer_bits_per_s];
        assert_eq!(rates, [0, 0], "nothing comes through any more");
    }
}
