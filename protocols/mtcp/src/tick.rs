//! The ticks at which timers go off.

use units::{Duration, Instant};

use crate::config::Timing;

/// How long a packet alone waits to be acknowledged where no tick decides that: at least so long, which costs a host
/// few wake-ups, and at most so long.
const DELAYS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(50));

/// How long a packet that came `gap` after the one before waits to be acknowledged: twice as long, so that the next one
/// of a stream comes in time (RFC 1122 §4.2.3.2 leaves that open, up to 500 ms). What comes after a longer silence is
/// no stream yet; and a hop that takes that long for each packet has each of them acknowledged.
pub(crate) fn acknowledgment_delay(gap: Duration) -> Duration {
    let (least, most) = DELAYS;
    if gap > most {
        least
    } else {
        longest_delay(gap)
    }
}

/// The longest that such a packet waits whose `gap` is at most this long.
pub(crate) fn longest_delay(gap: Duration) -> Duration {
    let (least, most) = DELAYS;
    (gap * 2).clamp(least, most)
}

/// A tick of one length from an origin on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticks {
    length: u64,
    phase: u64,
}

impl Ticks {
    pub(crate) fn new(timing: &Timing) -> Self {
        let length = timing.tick.as_nanos().max(1);
        let phase = timing.phase.as_nanos() % length;
        Self { length, phase }
    }

    /// The first tick that is at least `span` after `now`, and at least one tick.
    ///
    /// A timer of less than a tick thus runs for one to two ticks, as in BSD, where the first tick may come at once
    /// and does not count.
    pub(crate) fn after(self, now: Instant, span: Duration) -> Instant {
        let span = span.as_nanos().max(self.length);
        self.reached(now.as_nanos().saturating_add(span))
    }

    /// The first tick that is not before `at`.
    pub(crate) fn at_or_after(self, at: Instant) -> Instant {
        self.reached(at.as_nanos())
    }

    /// The next tick.
    pub(crate) fn next(self, now: Instant) -> Instant {
        self.reached(now.as_nanos().saturating_add(1))
    }

    /// How many ticks have passed at `now`.
    pub(crate) fn count(self, now: Instant) -> u64 {
        (now.as_nanos() + self.length - self.phase) / self.length
    }

    fn reached(self, nanos: u64) -> Instant {
        let count = nanos.saturating_sub(self.phase).div_ceil(self.length);
        Instant::from_nanos(count.saturating_mul(self.length).saturating_add(self.phase))
    }
}
