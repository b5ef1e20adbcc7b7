//! BBR's look for a policer: two stretches of heavy loss at one rate mean that this rate is all there is.

use units::{Duration, Instant};

use super::filter::rate_of;

/// Round trips of a stretch.
const ROUNDS_MIN: u32 = 4;
const ROUNDS_MAX: u32 = 16;
/// Round trips for which the rate is believed.
const BELIEVED: u32 = 48;
/// Losses that are heavy: 50 of 256.
const HEAVY: (u64, u64) = (50, 256);
/// Rates that are one: within an eighth, or so many bytes a second.
const NEAR: u64 = 8;
const NEAR_BYTES: u64 = 500;

/// What the samples of a moment add up to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Totals {
    pub(super) now: Instant,
    /// Bytes that have arrived so far.
    pub(super) arrived: u64,
    /// Bytes that were lost so far.
    pub(super) lost: u64,
}

/// The look-out.
#[derive(Debug, Clone)]
pub(super) struct Policed {
    /// The rate of the last stretch, in bytes a second; 0 before there is one.
    rate: u64,
    believed: bool,
    begun: Option<Totals>,
    rounds: u32,
}

impl Policed {
    pub(super) fn new() -> Self {
        Self {
            rate: 0,
            believed: false,
            begun: None,
            rounds: 0,
        }
    }

    /// The policer's rate in bytes a second, while it is believed.
    pub(super) fn rate(&self) -> Option<u64> {
        self.believed.then_some(self.rate)
    }

    pub(super) fn reset(&mut self) {
        *self = Self::new();
    }

    /// Takes a sample in; `lost` if it brought losses. True when the rate is not believed any more.
    pub(super) fn update(
        &mut self,
        totals: Totals,
        round_starts: bool,
        (lost, app_limited): (bool, bool),
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
