//! Small contents whose confirmation is late.

use arq::LinkEvent;
use units::Duration;

use super::script::{Script, usual};

const ROUND_TRIP: Duration = Duration::from_millis(20);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Until a fade is noticed, the content may have been lost alone. In a fade of which nobody knows yet if it loses
/// frames, copies would queue behind the original.
#[test]
fn they_are_repeated_often_until_a_fade_is_noticed_and_rarely_in_it() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.events.clear();
    end.held(1, 100);
    let first = end.send(1)[0].at;
    let mut before = Vec::new();
    while end.events.is_empty() {
        before.extend(end.run(MILLISECOND, MILLISECOND));
    }
    assert_eq!(end.events, [LinkEvent::FadeBegan]);
    assert!(before.len() >= 4, "{} copies", before.len());
    assert!(before[0].at.since(first) > ROUND_TRIP);
    let after = end.run(Duration::from_millis(200), MILLISECOND);
    assert!((4..=11).contains(&after.len()), "{} copies", after.len());
}
