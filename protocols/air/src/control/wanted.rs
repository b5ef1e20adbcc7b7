//! How long a queue in the hop should be for the hop never to be idle.
//!
//! A hop whose service comes in bursts, or whose rate changes, runs empty unless some bytes wait in it. How many is
//! measured: the wanted wait grows while the queue is seen empty, and shrinks slowly while it is not, so that the hop
//! is empty for about [`IDLE_SHARE`] of the time. On a steady hop that is the least wait.

use units::Duration;

/// The least wait that is aimed at: several times what clocks and schedulers blur.
const LEAST: Duration = Duration::from_millis(4);
/// Clocks and schedulers blur a delay by so much.
const NO_WAIT: Duration = Duration::from_millis(1);
/// The most: beyond it a hop is rather probed than filled.
const MOST: Duration = Duration::from_millis(300);
/// The share of the time for which the hop may be empty: one part in so many.
const IDLE_SHARE: i64 = 33;
/// The wanted wait grows by a part of this time, in microseconds, for each microsecond that the hop is empty.
const GROWTH_TIME: i64 = 200_000;
/// A queue that stays empty for longer than this is no burst of the hop but too low a rate.
const EPISODE: i64 = 100_000;

/// A wait that no arrival has gone below for so long, in microseconds, is not needed: half of it is taken off.
const UNUSED: i64 = 1_500_000;

/// The wanted wait, in microseconds.
#[derive(Debug)]
pub(crate) struct WantedWait {
    wait: i64,
    idle_for: i64,
    /// The smallest wait for as long as that has been watched.
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
    /// Returns the least wait where a frame takes so long.
    pub(crate) fn least(frame: Duration) -> i64 {
        LEAST.max(frame.scaled(5, 4)).as_micros() as i64
    }

    /// Returns the wait below which the queue counts as empty where a frame takes so long.
    pub(crate) fn none(frame: Duration) -> i64 {
        let few = (NO_WAIT + frame.scaled(5, 4)).as_micros() as i64;
        few.min(Self::least(frame) * 3 / 4)
    }

    /// Returns the wait that is aimed at where a frame takes so long.
    pub(crate) fn get(&self, frame: Duration) -> i64 {
        self.wait.max(Self::least(frame))
    }

    /// An arrival has waited for so long, so many microseconds after the one before; for a part of these the hop was
    /// `idle`.
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

    /// A queue of so long a wait has overflowed, so it must stay shorter.
    pub(crate) fn overflowed(&mut self, wait: i64) {
        self.wait = self.wait.min(wait) * 7 / 10;
    }
}
