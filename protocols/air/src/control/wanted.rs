//! The wanted wait: the shortest queue in the hop that never lets it idle.
//!
//! A hop whose service comes in bursts, or whose rate changes, runs empty unless some bytes wait in it. Their number is
//! measured: the wanted wait grows while the queue is seen empty, and shrinks slowly while it is not, so that the hop
//! is empty for about [`IDLE_SHARE`] of the time. On a steady hop this is the least wait.

use units::Duration;

/// Least wanted wait: several times the noise of clocks and schedulers.
const LEAST: Duration = Duration::from_millis(4);
/// Noise of a delay by clocks and schedulers.
const NO_WAIT: Duration = Duration::from_millis(1);
/// Largest wanted wait: a larger one would fill the hop only to probe it.
const MOST: Duration = Duration::from_millis(300);
/// Divisor of the time for which the hop may be empty.
const IDLE_SHARE: i64 = 33;
/// Time constant of the growth, in microseconds: the wanted wait grows by a part of it for each microsecond that the
/// hop is empty.
const GROWTH_TIME: i64 = 200_000;
/// Longest time, in microseconds, for which an empty queue counts as a burst of the hop; beyond it the rate is too low.
const EPISODE: i64 = 100_000;

/// Time, in microseconds, after which half of a wait that no arrival has gone below is taken off as unnecessary.
const UNUSED: i64 = 1_500_000;

/// The wanted wait, in microseconds.
#[derive(Debug)]
pub(crate) struct WantedWait {
    wait: i64,
    idle_for: i64,
    /// The smallest wait since the watch began.
    shallowest: i64,
    watched_for: i64,
}

impl Default for WantedWait {
    fn default() -> Self {
        Self {
            wait: LEAST.as_micros() as i64,
            idle_for: 0,
            shallowest: i64::MAX,
            watched_for: 0,
        }
    }
}

impl WantedWait {
    /// Returns the least wanted wait, if a frame takes this long.
    pub(crate) fn least(frame: Duration) -> i64 {
        LEAST.max(frame.scaled(5, 4)).as_micros() as i64
    }

    /// Returns the wait below which the queue counts as empty, if a frame takes this long.
    pub(crate) fn none(frame: Duration) -> i64 {
        let few = (NO_WAIT + frame.scaled(5, 4)).as_micros() as i64;
        few.min(Self::least(frame) * 3 / 4)
    }

    /// Returns the wanted wait, if a frame takes this long.
    pub(crate) fn get(&self, frame: Duration) -> i64 {
        self.wait.max(Self::least(frame))
    }

    /// Records an arrival that waited for `wait`, `span` microseconds after the previous one; the hop was `idle` for a
    /// part of these.
    pub(crate) fn note(&mut self, wait: i64, span: i64, idle: i64, frame: Duration) {
        let least = Self::least(frame);
        let span = span.clamp(0, EPISODE);
        self.idle_for = if idle > 0 { self.idle_for + span } else { 0 };
        if self.idle_for <= EPISODE {
            self.wait += self.wait * idle.min(span) / GROWTH_TIME;
        }
        let excess = (self.wait - least).max(0);
        self.wait -= excess * span / (GROWTH_TIME * IDLE_SHARE);
        self.shallowest = self.shallowest.min(wait);
        self.watched_for += span;
        if self.watched_for > UNUSED {
            self.wait -= (self.shallowest - least).max(0) / 2;
            (self.shallowest, self.watched_for) = (i64::MAX, 0);
        }
        self.wait = self.wait.clamp(least, (MOST.as_micros() as i64).max(least));
    }

    /// Records that a queue with this wait overflowed, so that it must stay shorter.
    pub(crate) fn overflowed(&mut self, wait: i64) {
        self.wait = self.wait.min(wait) * 7 / 10;
    }
}
