//! Being there when a packet is due.

use edges::clock;
use units::{Duration, Instant};

/// The most that is slept less than wanted, and so the most that is spent in busy waiting at once.
const MOST_EARLY: Duration = Duration::from_micros(200);
/// The shortest sleep. Packets that are due within it are handled together: no link looks
/// different for it, and high rates cost far fewer wake-ups.
const SHORTEST: Duration = Duration::from_micros(60);
/// How fast the estimate follows.
const STEP: Duration = Duration::from_micros(2);
/// A machine that is this late distorts the link.
const TOO_LATE: Duration = Duration::from_millis(2);

/// Sleeps until a deadline.
///
/// Waking takes a machine 20 to 150 µs: most where it is virtual and was idle. So the alarm rings earlier
/// by the median of what it took so far, and the little that is left, in half of the cases, is waited for
/// busily.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    early: Duration,
    set_for: Instant,
    /// How late deadlines were met.
    pub(super) lateness: Lateness,
}

/// How late deadlines were met, added up.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    pub(super) deadlines: u64,
    pub(super) total: Duration,
    pub(super) worst: Duration,
    pub(super) too_late: u64,
}

impl Alarm {
    /// How long to sleep now for `due`.
    pub(super) fn set(&mut self, due: Instant) -> Duration {
        let now = clock::monotonic();
        let span = (due.since(now) - self.early).max(SHORTEST);
        self.set_for = now + span;
        span
    }

    /// After the sleep for `due`. If nothing else has ended it (`rang`), waits for the rest.
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
