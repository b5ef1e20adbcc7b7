//! The ticks at which timers expire.

use units::{Duration, Instant};

use crate::config::Timing;

/// Least and longest time that a single packet waits to be acknowledged if no ticks are used: the least saves a host
/// some wake-ups.
const DELAYS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(50));

/// Returns the time that a packet which came `gap` after the one before waits to be acknowledged: twice the gap, so
/// that the next packet of a stream comes in time (RFC 1122 §4.2.3.2 leaves that open, up to 500 ms). After a longer
/// gap there is no stream yet; and on a hop with such gaps every packet is acknowledged.
pub(crate) fn acknowledgment_delay(gap: Duration) -> Duration {
    let (least, most) = DELAYS;
    if gap > most {
        least
    } else {
        longest_delay(gap)
    }
}

/// Returns the longest time that a packet waits whose gap is at most `gap`.
pub(crate) fn longest_delay(gap: Duration) -> Duration {
    let (least, most) = DELAYS;
    (gap * 2).clamp(least, most)
}

/// Periodic ticks from an origin on.
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

    /// Returns the first tick that is at least `span` after `now`, and at least one tick.
    ///
    /// A timer of less than a tick thus runs for one to two ticks, as in BSD, where the first tick may come at once
    /// and does not count.
    pub(crate) fn after(self, now: Instant, span: Duration) -> Instant {
        let span = span.as_nanos().max(self.length);
        self.reached(now.as_nanos().saturating_add(span))
    }

    /// Returns the first tick that is not before `at`.
    pub(crate) fn at_or_after(self, at: Instant) -> Instant {
        self.reached(at.as_nanos())
    }

    /// Returns the next tick.
    pub(crate) fn next(self, now: Instant) -> Instant {
        self.reached(now.as_nanos().saturating_add(1))
    }

    /// Returns the number of ticks that have passed at `now`.
    pub(crate) fn count(self, now: Instant) -> u64 {
        (now.as_nanos() + self.length - self.phase) / self.length
    }

    fn reached(self, nanos: u64) -> Instant {
        let count = nanos.saturating_sub(self.phase).div_ceil(self.length);
        Instant::from_nanos(count.saturating_mul(self.length).saturating_add(self.phase))
    }
}
