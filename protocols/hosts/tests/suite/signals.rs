//! The signals of outages for applications, in virtual time.

use hosts::{EventKind, Input};
use signals::{Condition, Event};
use units::{Duration, Instant};

use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);

/// Bulk both ways, connected for five seconds.
fn transfer() -> Pair {
    let mut pair = Pair::new("l2-clean", 3);
    pair.add(Traffic::bulk(1));
    pair.add(Traffic::upload(2));
    pair.run_for(SECOND * 5);
    pair
}

/// Returns the signals of a host from `start` on.
fn told(pair: &Pair, host: usize, start: Instant) -> Vec<(Instant, Event)> {
    let mut condition = Condition::new(Instant::ZERO, "peer".into());
    let mut told = Vec::new();
    for (at, who, kind) in &pair.events {
        let change = kind.change().filter(|_| *who == host);
        if let Some(signal) = change.and_then(|change| condition.note(*at, change)) {
            assert_eq!(signal.at, *at);
            told.push((*at, signal.event));
        }
    }
    told.retain(|(at, _)| *at >= start);
    told
}

fn names(told: &[(Instant, Event)]) -> Vec<&'static str> {
    told.iter().map(|(_, event)| event.name()).collect()
}

fn blackout(pair: &mut Pair, span: Duration) -> Instant {
    let start = pair.now;
    pair.blackout = start..start + span;
    pair.run_for(span + SECOND * 3);
    start
}

#[test]
fn the_first_connection_is_told() {
    let pair = transfer();
    for host in [MOBILE, GATEWAY] {
        let told = told(&pair, host, Instant::ZERO);
        assert!(
            matches!(told[0].1, Event::Restored { kept: false, .. }),
            "{told:?}"
        );
        // While the rate is sought, a queue may look like a short fade.
        for pair in names(&told)[1..].chunks(2) {
            assert_eq!(pair, ["fade", "restored"], "{told:?}");
        }
    }
}

#[test]
fn an_outage_is_told_with_its_end_and_what_it_kept() {
    for (millis, kept) in [(160, true), (600, true), (2_000, false)] {
        let span = Duration::from_millis(millis);
        let mut pair = transfer();
        let start = blackout(&mut pair, span);
        for host in [MOBILE, GATEWAY] {
            let told = told(&pair, host, start);
            assert_eq!(
                names(&told),
                ["fade", "restored"],
                "{millis} ms at host {host}"
            );
            let [
                (began, _),
                (
                    ended,
                    Event::Restored {
                        kept: was,
                        held: true,
                        lasted,
                    },
                ),
            ] = told[..]
            else {
                panic!("{told:?}");
            };
            assert_eq!(was, kept, "{millis} ms");
            assert!(
                began < start + span / 2 && ended >= start + span,
                "{told:?}"
            );
            let most = span + Duration::from_millis(200);
            assert!(lasted >= span && lasted <= most, "{lasted} of {span}");
        }
    }
}

#[test]
fn a_long_outage_ends_in_disconnection() {
    let mut pair = transfer();
    let start = blackout(&mut pair, SECOND * 300);
    pair.run_for(SECOND * 10);
    for host in [MOBILE, GATEWAY] {
        let told = told(&pair, host, start);
        assert_eq!(names(&told), ["fade", "disconnected", "restored"]);
        let Event::Restored {
            kept,
            held: true,
            lasted,
        } = told[2].1
        else {
            panic!("{told:?}");
        };
        assert!(!kept && lasted >= SECOND * 300, "{told:?}");
    }
}

#[test]
fn a_peer_that_starts_anew_is_told_to_have_kept_nothing() {
    let mut pair = transfer();
    pair.stop();
    pair.run_for(SECOND);
    let start = pair.now;
    pair.restart(MOBILE);
    pair.run_for(SECOND * 40);
    let told = told(&pair, GATEWAY, start);
    let last = told.last().map(|(_, event)| *event);
    assert!(
        matches!(last, Some(Event::Restored { held: false, .. })),
        "{told:?}"
    );
}

#[test]
fn a_change_of_the_network_is_a_handoff_until_the_gateway_is_heard() {
    let mut pair = transfer();
    let start = pair.now;
    pair.blackout = start..start + Duration::from_millis(300);
    for host in [MOBILE, GATEWAY] {
        pair.input(host, Input::LinkChanging);
    }
    pair.run_for(Duration::from_millis(300));
    pair.input(MOBILE, Input::LinkChanging);
    pair.input(MOBILE, Input::LinkUp);
    pair.run_for(SECOND);
    let mobile = told(&pair, MOBILE, start);
    assert_eq!(names(&mobile), ["handoff_impending", "fade", "restored"]);
    assert_eq!(mobile[0].0, start);
    assert!(mobile[2].0 >= start + Duration::from_millis(300));
    assert!(
        matches!(mobile[2].1, Event::Restored { kept: true, .. }),
        "{mobile:?}"
    );
    let gateway = told(&pair, GATEWAY, start);
    assert_eq!(
        names(&gateway),
        ["fade", "restored"],
        "a gateway stays where it is"
    );
}

/// Without traffic it is the probe of the session that ends it.
#[test]
fn an_idle_handoff_ends_too() {
    let mut pair = transfer();
    pair.stop();
    pair.run_for(SECOND * 2);
    let start = pair.now;
    pair.input(MOBILE, Input::LinkChanging);
    pair.run_for(Duration::from_millis(100));
    pair.input(MOBILE, Input::LinkUp);
    pair.run_for(SECOND * 30);
    assert_eq!(
        names(&told(&pair, MOBILE, start)),
        ["handoff_impending", "restored"]
    );
}

#[test]
fn the_gateway_says_where_a_mobile_has_gone() {
    let mut pair = transfer();
    let start = pair.now;
    let elsewhere = "10.0.0.77:1234".parse().expect("an address");
    pair.place.mobile = Some(elsewhere);
    pair.run_for(SECOND * 2);
    pair.place.mobile = None;
    pair.run_for(SECOND * 2);
    let back = pair.address(MOBILE);
    let moved: Vec<_> = pair
        .events
        .iter()
        .filter(|(at, host, _)| (*at >= start) && *host == GATEWAY)
        .filter(|(_, _, kind)| matches!(kind, EventKind::Moved { .. }))
        .map(|(_, _, kind)| kind.clone())
        .collect();
    assert_eq!(moved, [elsewhere, back].map(|to| EventKind::Moved { to }));
}

/// Without another gateway a mobile host stays, and tells applications.
#[test]
fn an_announced_handoff_is_told_until_its_time_has_come() {
    let mut pair = transfer();
    let (start, within) = (pair.now, Duration::from_millis(500));
    for host in [MOBILE, GATEWAY] {
        let gateway = None;
        pair.input(host, Input::HandoffAnnounced { within, gateway });
    }
    pair.run_for(SECOND);
    let mobile = told(&pair, MOBILE, start);
    assert_eq!(mobile[0], (start, Event::HandoffImpending { within }));
    assert_eq!(names(&mobile), ["handoff_impending", "restored"]);
    assert!(mobile[1].0 >= start + within);
    assert_eq!(told(&pair, GATEWAY, start), []);
}
