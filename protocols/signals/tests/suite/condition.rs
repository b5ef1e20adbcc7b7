//! Tests of the signals about a hop: each fault as it begins, and the end once, when there is no fault any more.

use signals::{Change, Condition, Event, Signal};
use units::{Duration, Instant};

/// Values of `kept` and `held`.
const KEPT: (bool, bool) = (true, true);
const HELD: (bool, bool) = (false, true);
const LOST: (bool, bool) = (false, false);

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn restored((kept, held): (bool, bool), lasted: u64) -> Event {
    let lasted = millis(lasted);
    Event::Restored { kept, held, lasted }
}

fn faded(lasted: u64, (kept, _): (bool, bool)) -> Change {
    let lasted = millis(lasted);
    Change::FadeEnded { lasted, kept }
}

/// Returns the events for `changes`, each 100 ms after the one before, on a working hop.
fn told(changes: &[Change]) -> Vec<Event> {
    let mut condition = Condition::new(Instant::ZERO, "gateway".into());
    let first = condition.note(Instant::ZERO, Change::Connected { fresh: true });
    assert_eq!(first.map(|signal| signal.event), Some(restored(LOST, 0)));
    let (mut now, mut events) = (Instant::ZERO, Vec::new());
    for change in changes {
        now += millis(100);
        events.extend(condition.note(now, *change).map(|signal| {
            assert_eq!((signal.at, signal.past), (now, false));
            signal.event
        }));
    }
    events
}

const HANDOFF: Event = Event::HandoffImpending {
    within: Duration::ZERO,
};
const BEGUN: Change = Change::HandoffBegan {
    within: Duration::ZERO,
};

#[test]
fn a_fade_is_told_at_its_beginning_and_its_end() {
    use Change::{Connected, FadeBegan};
    for kept in [KEPT, HELD] {
        let events = told(&[FadeBegan, faded(130, kept), FadeBegan]);
        assert_eq!(events, [Event::Fade, restored(kept, 130), Event::Fade]);
    }
    assert_eq!(
        told(&[Connected { fresh: false }]),
        [],
        "new keys are no news"
    );
}

#[test]
fn a_peer_that_started_anew_has_kept_nothing() {
    use Change::{Connected, FadeBegan};
    assert_eq!(told(&[Connected { fresh: true }]), [restored(LOST, 0)]);
    let events = told(&[FadeBegan, Connected { fresh: true }]);
    assert_eq!(events, [Event::Fade, restored(LOST, 100)]);
}

#[test]
fn all_is_well_only_when_nothing_is_wrong() {
    use Change::{Connected, Expired, FadeBegan, HandoffEnded};
    let events = told(&[BEGUN, FadeBegan, HandoffEnded, faded(250, KEPT)]);
    assert_eq!(events, [HANDOFF, Event::Fade, restored(KEPT, 300)]);
    let events = told(&[BEGUN, HandoffEnded]);
    assert_eq!(events, [HANDOFF, restored(KEPT, 100)]);
    let changes = [
        FadeBegan,
        Expired,
        Connected { fresh: false },
        faded(9_000, HELD),
    ];
    let events = told(&changes);
    let gone = Event::Disconnected;
    assert_eq!(events[..2], [Event::Fade, gone]);
    assert!(
        matches!(
            events[2..],
            [Event::Restored {
                kept: false,
                held: true,
                ..
            }]
        ),
        "{events:?}"
    );
    let events = told(&[Expired, FadeBegan, BEGUN, Connected { fresh: true }]);
    assert_eq!(events, [gone, restored(LOST, 300)]);
}

#[test]
fn a_hand_off_is_told_with_the_time_until_it_begins() {
    let within = millis(500);
    let ahead = Change::HandoffBegan { within };
    let events = told(&[ahead, BEGUN, Change::HandoffEnded]);
    let impending = Event::HandoffImpending { within };
    assert_eq!(events, [impending, restored(KEPT, 200)]);
}

#[test]
fn a_newcomer_is_told_what_led_to_the_present() {
    let mut condition = Condition::new(Instant::from_millis(5), "tablet7".into());
    let present = |event, at| Signal {
        at: Instant::from_millis(at),
        peer: "tablet7".into(),
        event,
        past: true,
    };
    assert_eq!(condition.present(), present(Event::Disconnected, 5));
    condition.note(Instant::from_millis(20), Change::Connected { fresh: true });
    assert_eq!(condition.present(), present(restored(LOST, 15), 20));
    condition.note(Instant::from_millis(30), Change::FadeBegan);
    assert_eq!(condition.present(), present(Event::Fade, 30));
}
