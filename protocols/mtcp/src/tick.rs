//! The ticks at which timers go off.

use units::{Duration, Instant};

use crate::config::Timing;

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
