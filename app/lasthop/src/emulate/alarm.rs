//! An alarm clock for the deadlines of packets.

use edges::clock;
use units::{Duration, Instant};

/// Largest time that a sleep is shortened, and so the longest busy waiting at once.
const MOST_EARLY: Duration = Duration::from_micros(200);
/// Shortest sleep. Packets that are due within it are handled together: this makes no visible difference to a link, and
/// high rates need far fewer wake-ups.
const SHORTEST: Duration = Duration::from_micros(60);
/// Step of the estimate.
const STEP: Duration = Duration::from_micros(2);
/// Delay from which the machine counts as too late, which distorts the link.
const TOO_LATE: Duration = Duration::from_millis(2);

/// Sleeps until a deadline.
///
/// Waking takes a machine 20 to 150 µs: the most if it is virtual and was idle. So the alarm is set earlier by the
/// median of the previous delays, and the small rest, in half of the cases, is busy waiting.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    early: Duration,
    set_for: Instant,
    /// Delays of the deadlines.
    pub(super) lateness: Lateness,
}

/// Sum of the delays of deadlines.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    pub(super) deadlines: u64,
    pub(super) total: Duration,
    pub(super) worst: Duration,
    pub(super) too_late: u64,
}

impl Alarm {
    /// Returns the time to sleep now for `due`.
    pub(super) fn set(&mut self, due: Instant) -> Duration {
        let now = clock::monotonic();
        let span = (due.since(now) - self.early).max(SHORTEST);
        self.set_for = now + span;
        span
    }

    /// Waits for the rest after the sleep for `due`, if no event has ended the sleep (`rang`); then records the delay.
    pub(super) fn ring(&mut self, due: Instant, rang: bool) {
        let mut now = clock::monotonic();
        if rang && now >= self.set_for {
            self.early = if now.since(self.set_for) > self.early {
                (self.early + STEP).min(MOST_EARLY)
            } else {
                self.early - STEP
            };
            while now < due {
                std::hint::spin_loop();
                now = clock::monotonic();
            }
        }
        if now >= due {
            self.lateness.note(now.since(due));
        }
    }
}

impl Lateness {
    fn note(&mut self, late: Duration) {
        self.deadlines += 1;
        self.total += late;
        self.worst = self.worst.max(late);
        self.too_late += u64::from(late > TOO_LATE);
    }
}
