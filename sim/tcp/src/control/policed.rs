//! BBR's detection of a policer: two intervals of heavy loss at the same rate mean that a policer allows only this
//! rate.

use units::{Duration, Instant};

use super::filter::rate_of;

/// Shortest and longest interval, in round trips.
const ROUNDS_MIN: u32 = 4;
const ROUNDS_MAX: u32 = 16;
/// Time for which the rate is valid, in round trips.
const BELIEVED: u32 = 48;
/// Loss ratio that counts as heavy: 50 of 256.
const HEAVY: (u64, u64) = (50, 256);
/// Difference of rates that count as equal: an eighth, or this number of bytes per second.
const NEAR: u64 = 8;
const NEAR_BYTES: u64 = 500;

/// Cumulative counts at one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Totals {
    pub(super) now: Instant,
    /// Bytes delivered so far.
    pub(super) arrived: u64,
    /// Bytes lost so far.
    pub(super) lost: u64,
}

/// State of the detection.
#[derive(Debug, Clone)]
pub(super) struct PolicerDetector {
    /// Rate of the last interval, in bytes per second; 0 before there is one.
    rate: u64,
    believed: bool,
    begun: Option<Totals>,
    rounds: u32,
}

impl PolicerDetector {
    pub(super) fn new() -> Self {
        Self {
            rate: 0,
            believed: false,
            begun: None,
            rounds: 0,
        }
    }

    /// Returns the policer's rate in bytes per second, while it is valid.
    pub(super) fn rate(&self) -> Option<u64> {
        self.believed.then_some(self.rate)
    }

    pub(super) fn reset(&mut self) {
        *self = Self::new();
    }

    /// Adds a sample; `lost` if it brought losses. Returns true if the rate ceases to be valid.
    pub(super) fn update(
        &mut self,
        totals: Totals,
        round_starts: bool,
        lost: bool,
        app_limited: bool,
    ) -> bool {
        self.rounds += u32::from(round_starts);
        if self.believed {
            if self.rounds >= BELIEVED {
                self.reset();
                return true;
            }
            return false;
        }
        let Some(begun) = self.begun else {
            if lost {
                self.begin(totals);
            }
            return false;
        };
        if app_limited || self.rounds > ROUNDS_MAX {
            self.reset();
            return false;
        }
        let (arrived, gone) = (totals.arrived - begun.arrived, totals.lost - begun.lost);
        let heavy = arrived > 0 && gone * HEAVY.1 >= HEAVY.0 * arrived;
        let span = totals.now.since(begun.now);
        if !lost || self.rounds < ROUNDS_MIN || !heavy || span < Duration::from_millis(1) {
            return false;
        }
        self.end_stretch(totals, rate_of(arrived, span));
        false
    }

    fn begin(&mut self, totals: Totals) {
        self.begun = Some(totals);
        self.rounds = 0;
    }

    fn end_stretch(&mut self, totals: Totals, rate: u64) {
        let apart = rate.abs_diff(self.rate);
        let alike = apart * NEAR <= self.rate || apart <= NEAR_BYTES;
        if self.rate > 0 && alike {
            self.rate = u64::midpoint(rate, self.rate);
            self.believed = true;
            self.rounds = 0;
            return;
        }
        self.rate = rate;
        self.begin(totals);
    }
}
