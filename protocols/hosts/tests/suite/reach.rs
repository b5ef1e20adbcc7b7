//! A host whose datagrams cannot leave it, since its link is down.

use hosts::Input;
use units::Duration;

use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);

/// A pair in the midst of a transfer both ways, one end of which has lost its link for `outage`.
fn without_link(host: usize, outage: Duration) -> Pair {
    let mut pair = Pair::new("l2-clean", 7);
    pair.add(Traffic::bulk(1));
    pair.add(Traffic::upload(2));
    pair.add_requests(pair.now);
    pair.run_for(SECOND * 5);
    pair.blackout = pair.now..pair.now + outage;
    (pair.severed, pair.wakes) = (Some(host), [0; 2]);
    pair.run_for(outage);
    pair
}

#[test]
fn a_host_without_link_rests() {
    for host in [MOBILE, GATEWAY] {
        let pair = without_link(host, SECOND * 60);
        println!(
            "host {host}: {} refused, {} deadlines",
            pair.refused, pair.wakes[host]
        );
        // Once a second it is tried with what the pacer lets go at once; what handshakes send comes beside it.
        assert!(pair.refused < 60 * 20, "{} datagrams refused", pair.refused);
        let requests = 60 * 10 * u64::from(host == MOBILE);
        let wakes = pair.wakes[host] - requests.min(pair.wakes[host]);
        assert!(wakes < 60 * 20, "{wakes} deadlines in a minute");
        assert!(pair.status(host).unreachable_for > Some(SECOND * 58));
        assert_eq!(pair.status(1 - host).unreachable_for, None);
    }
}

#[test]
fn it_goes_on_when_the_network_has_changed() {
    for (host, outage) in [(MOBILE, 2), (MOBILE, 20), (GATEWAY, 20)] {
        let mut pair = without_link(host, SECOND * outage);
        let before = [1, 2].map(|port| pair.received(port).payload);
        pair.severed = None;
        pair.input(host, Input::LinkChanging);
        pair.input(host, Input::LinkUp);
        pair.run_for(Duration::from_millis(300));
        for (place, port) in [1, 2].into_iter().enumerate() {
            let received = pair.received(port);
            assert!(received.payload > before[place], "nothing new on {port}");
            assert!(received.in_order);
        }
        assert_eq!(
            pair.status(host).unreachable_for,
            None,
            "host {host}, {outage} s"
        );
    }
}

#[test]
fn it_goes_on_within_two_seconds_when_nobody_tells() {
    let mut pair = without_link(MOBILE, SECOND * 20);
    let before = pair.received(1).payload;
    pair.severed = None;
    pair.run_for(SECOND * 2);
    assert!(pair.received(1).payload > before);
    pair.run_for(SECOND);
    assert_eq!(pair.status(MOBILE).unreachable_for, None);
}
