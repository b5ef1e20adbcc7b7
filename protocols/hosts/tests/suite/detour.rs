//! Turns of new flows around a hop that is down, and across it again.

use hosts::{EventKind, Input};
use units::{Duration, Instant};

use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);

/// Returns the turns of the mobile host: the time of each, and whether it led around the hop.
fn turns(pair: &Pair) -> Vec<(Instant, bool)> {
    let turn = |(at, host, kind): &(Instant, usize, EventKind)| {
        assert!(*host == MOBILE || !is_turn(kind));
        is_turn(kind).then_some((*at, matches!(kind, EventKind::DetourBegan { .. })))
    };
    pair.events.iter().filter_map(turn).collect()
}

fn is_turn(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::DetourBegan { .. } | EventKind::DetourEnded { .. }
    )
}

#[test]
fn a_long_fade_is_left_and_a_short_one_is_not() {
    let mut pair = Pair::with_detours("l2-clean", 3);
    pair.add(Traffic::upload(1));
    pair.run_for(SECOND * 5);
    for (length, turned) in [(10, 0), (60, 2)] {
        pair.blackout = pair.now..pair.now + SECOND * length;
        let (begin, end) = (pair.blackout.start, pair.blackout.end);
        pair.run_for(SECOND * (length + 10));
        let turns = turns(&pair);
        assert_eq!(turns.len(), turned, "{turns:?}");
        if let [(around, true), (across, false)] = turns[..] {
            let waited = around.since(begin);
            assert!(waited >= SECOND * 15 && waited < SECOND * 18, "{waited}");
            assert!(across > end && across.since(end) < SECOND * 5);
        }
    }
}

#[test]
fn an_idle_hop_stays_and_a_gateway_whose_host_refuses_is_left_soon() {
    let mut pair = Pair::with_detours("l2-clean", 4);
    pair.run_for(SECOND * 400);
    assert_eq!(turns(&pair), []);
    pair.add(Traffic::upload(1));
    pair.run_for(SECOND * 5);
    pair.blackout = pair.now..pair.now + SECOND * 20;
    let (begin, end) = (pair.blackout.start, pair.blackout.end);
    pair.run_for(SECOND * 2);
    let gateway = pair.address(GATEWAY);
    pair.input(MOBILE, Input::PortRefused(gateway));
    pair.run_for(SECOND * 60);
    let turns = turns(&pair);
    let [(around, true), (across, false)] = turns[..] else {
        panic!("{turns:?}");
    };
    let waited = around.since(begin);
    assert!(waited >= SECOND * 3 && waited < SECOND * 5, "{waited}");
    assert!(across > end && across.since(end) < SECOND * 5);
}
