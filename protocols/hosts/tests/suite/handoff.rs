//! A mobile host moves between two access points of its gateway's network: its state stays, and the loss is repaired
//! as a fade.

use hosts::{EventKind, Input, Registration};
use units::Duration;

use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(1);

/// Moves during a transfer to the mobile host; gives how long nothing arrived, and the hop's round trip before.
fn stall_of(outage: Duration) -> (Duration, Duration) {
    let mut pair = Pair::new("l2-clean", 7);
    pair.add(Traffic::bulk(1));
    pair.run_for(SECOND * 5);
    let round_trip = pair.status(GATEWAY).hop.round_trip.expect("a round trip");
    let begun = pair.now;
    pair.blackout = begun..begun + outage;
    pair.input(MOBILE, Input::LinkChanging);
    pair.run_for(outage);
    let before = pair.received(1).payload;
    pair.input(MOBILE, Input::LinkUp);
    while pair.received(1).payload == before {
        pair.run_for(STEP);
    }
    let stall = pair.now.since(begun);
    pair.run_for(SECOND);
    assert!(pair.received(1).in_order);
    let fresh = EventKind::Established { fresh: true };
    let starts = pair.events.iter().filter(|(_, _, kind)| *kind == fresh);
    assert_eq!(starts.count(), 2, "each end began once");
    let ended = |(_, host, kind): &(_, usize, EventKind)| {
        *host == MOBILE && matches!(kind, EventKind::HandoffEnded { .. })
    };
    assert!(pair.events.iter().any(ended), "{:?}", pair.events);
    let state = pair.status(GATEWAY).registration;
    assert!(
        matches!(state, Registration::Registered { .. }),
        "{state:?}"
    );
    (stall, round_trip)
}

#[test]
fn a_move_costs_its_outage_and_two_round_trips_at_most() {
    for outage in [50, 200, 1_000].map(Duration::from_millis) {
        let (stall, round_trip) = stall_of(outage);
        println!("outage {outage}: {stall}, round trip {round_trip}");
        assert!(
            stall <= outage + round_trip * 2 + STEP * 4,
            "{outage}: {stall}, round trip {round_trip}"
        );
    }
}
