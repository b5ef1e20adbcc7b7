//! A signal as a line for people.

use edges::clock;
use signals::{Event, Signal};
use units::{Duration, Instant};

const SECONDS_A_DAY: u64 = 86_400;

/// Returns the wall-clock time, since 1970-01-01 UTC, at a time of the monotonic clock.
pub(super) fn wall_of(at: Instant) -> Duration {
    let now = clock::monotonic();
    // The time of an announced outage may be in the future.
    clock::wall() + at.since(now) - now.since(at)
}

/// Returns the line, without its end; `wall` is the time of the signal.
pub(super) fn line(signal: &Signal, wall: Duration) -> String {
    let second = wall.as_millis() / 1_000 % SECONDS_A_DAY;
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    let (second, millis) = (second % 60, wall.as_millis() % 1_000);
    let what = match signal.event {
        Event::HandoffImpending { within } if within.is_zero() => "a hand-off begins".into(),
        Event::HandoffImpending { within } => format!("a hand-off comes in {}", rounded(within)),
        Event::Fade if signal.past => "a fade since then".into(),
        Event::Fade => "a fade".into(),
        Event::Restored { .. } if signal.past => "all is well since then".into(),
        Event::Restored { kept, held, lasted } => {
            let cost = match (kept, held) {
                (true, _) => "nothing is lost",
                (false, true) => "datagrams may be lost",
                (false, false) => "what was under way may be lost",
            };
            format!("all is well after {}, {cost}", rounded(lasted))
        }
        Event::Disconnected if signal.past => "out of reach since then".into(),
        Event::Disconnected => "out of reach".into(),
    };
    let peer = &signal.peer;
    format!("{hour:02}:{minute:02}:{second:02}.{millis:03} UTC  {peer}: {what}")
}

/// Returns the span rounded down to milliseconds.
fn rounded(span: Duration) -> Duration {
    Duration::from_millis(span.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_well() {
        let signal = |event, past| Signal {
            at: Instant::ZERO,
            peer: "gateway".into(),
            event,
            past,
        };
        let wall = Duration::from_millis(1_800_000_000_123 + 5_000);
        let line = |event, past| line(&signal(event, past), wall);
        assert_eq!(
            line(Event::Fade, false),
            "08:00:05.123 UTC  gateway: a fade"
        );
        let lasted = Duration::from_micros(81_234);
        let restored = |held| Event::Restored {
            kept: held,
            held,
            lasted,
        };
        let said = line(restored(true), false);
        assert!(
            said.ends_with("gateway: all is well after 81 ms, nothing is lost"),
            "{said}"
        );
        assert!(line(restored(false), false).ends_with("what was under way may be lost"));
        assert!(line(restored(false), true).ends_with("gateway: all is well since then"));
        let within = Duration::from_millis(500);
        let said = line(Event::HandoffImpending { within }, false);
        assert!(said.ends_with("a hand-off comes in 500 ms"), "{said}");
        assert!(line(Event::Disconnected, true).ends_with("gateway: out of reach since then"));
    }
}
