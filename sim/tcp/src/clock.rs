//! A clock that counts ticks.

use units::{Duration, Instant};

use crate::Timing;

/// A clock whose timers fire at ticks: a timer of `n` ticks fires at the n-th tick from now, as in BSD, where it is
/// counted down once per tick.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    tick: u64,
    /// Number of the last tick, and time of the next one in nanoseconds.
    count: u64,
    next: u64,
    now: Instant,
}

impl Clock {
    pub(crate) fn new(timing: &Timing) -> Self {
        let tick = timing.tick.as_nanos().max(1);
        let phase = timing.phase.as_nanos() % tick;
        Self {
            tick,
            count: 0,
            next: if phase == 0 { tick } else { phase },
            now: Instant::ZERO,
        }
    }

    /// Advances the clock to `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.now = now;
        let nanos = now.as_nanos();
        if let Some(beyond) = nanos.checked_sub(self.next) {
            let ticks = beyond / self.tick + 1;
            self.count += ticks;
            self.next = self.next.saturating_add(ticks.saturating_mul(self.tick));
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// Returns the number of ticks so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the time of the n-th tick from now; at least one tick.
    pub(crate) fn after(&self, ticks: u64) -> Instant {
        let more = ticks.saturating_sub(1).saturating_mul(self.tick);
        Instant::from_nanos(self.next.saturating_add(more))
    }

    /// Returns the number of ticks that cover `span`.
    pub(crate) fn covering(&self, span: Duration) -> u64 {
        span.as_nanos().div_ceil(self.tick)
    }

    /// Returns the length of a tick.
    pub(crate) fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick)
    }
}
