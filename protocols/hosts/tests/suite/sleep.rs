//! A mobile host that sleeps for an hour: its keys expire meanwhile, and its flows go on.

use hosts::{Input, Registration};
use units::Duration;

use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// A pair in the midst of transfers both ways, whose mobile host has just woken up.
fn woken() -> Pair {
    let mut pair = Pair::new("l2-clean", 7);
    pair.add(Traffic::bulk(1));
    pair.add(Traffic::upload(2));
    pair.run_for(SECOND * 5);
    // It does nothing, and its radio is off.
    let end = pair.now + HOUR;
    pair.stall(MOBILE, (Duration::from_millis(1), HOUR), end);
    pair.blackout = pair.now..end;
    pair.run_for(HOUR);
    let registration = pair.status(GATEWAY).registration;
    assert!(
        matches!(registration, Registration::Expired { .. }),
        "{registration:?}"
    );
    pair
}

/// Payload that has come on each way.
fn received(pair: &Pair) -> [u64; 2] {
    [1, 2].map(|port| pair.received(port).payload)
}

/// Runs until both flows go on; returns how long that took.
fn goes_on(pair: &mut Pair) -> Duration {
    let (begun, before) = (pair.now, received(pair));
    while received(pair)
        .iter()
        .zip(before)
        .any(|(now, before)| *now == before)
    {
        pair.run_for(Duration::from_millis(10));
        assert!(
            pair.now.since(begun) < SECOND * 60,
            "the flows do not go on"
        );
    }
    pair.now.since(begun)
}

/// The network of a host that wakes up comes back, which its driver reports.
#[test]
fn flows_go_on_within_a_second_after_a_sleep_of_an_hour() {
    let mut pair = woken();
    pair.input(MOBILE, Input::LinkUp);
    let took = goes_on(&mut pair);
    assert!(took < SECOND, "{took}");
    pair.run_for(SECOND * 5);
    assert!([1, 2].iter().all(|port| pair.received(*port).in_order));
    assert!(pair.status(MOBILE).keys_age < Some(SECOND * 10));
}

/// A host that nobody tells finds out by itself.
#[test]
fn flows_go_on_after_a_sleep_that_nobody_reports() {
    let mut pair = woken();
    let took = goes_on(&mut pair);
    assert!(took < SECOND * 6, "{took}");
    pair.run_for(SECOND * 5);
    assert!([1, 2].iter().all(|port| pair.received(*port).in_order));
}
