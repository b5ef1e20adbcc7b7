//! The estimate of burst lengths.

use machine::RoundTripEstimate;
use units::Duration;

/// Mean length of the bursts of one channel and its mean deviation, smoothed as round trips are (RFC 6298 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BurstLength {
    known: Option<RoundTripEstimate>,
    count: u64,
}

impl BurstLength {
    /// Adds a burst of this length.
    pub(crate) fn seen(&mut self, length: Duration) {
        self.count += 1;
        self.known = Some(
            self.known
                .map_or(RoundTripEstimate::first(length), |known| {
                    known.with_rounded_once(length)
                }),
        );
    }

    /// Returns the number of bursts.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean and the mean deviation, after the first burst.
    pub(crate) fn mean_and_deviation(&self) -> Option<(Duration, Duration)> {
        self.known.map(|known| (known.smoothed, known.deviation))
    }
}
