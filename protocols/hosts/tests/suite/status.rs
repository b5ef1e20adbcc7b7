//! The status of a host: its keys, its limit of memory, and its choice where TCP is split.

use channel::Link;
use hosts::{Input, Profile};
use units::Duration;

use crate::support::{GATEWAY, MOBILE, Pair, WALL};

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
