//! The estimate of the round-trip time.

use units::Duration;

/// A smoothed round trip and its mean deviation (RFC 6298 §2, Jacobson 1988), in exact times.
///
/// The owner decides which round trips are measured, which value applies before the first sample, and which margin the
/// timeout has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTripEstimate {
    /// The average; a new sample weighs an eighth.
    pub smoothed: Duration,
    /// The mean distance from the average; a new one weighs a quarter.
    pub deviation: Duration,
}

impl RoundTripEstimate {
    /// Returns the estimate from one sample.
    pub fn first(sample: Duration) -> Self {
        Self {
            smoothed: sample,
            deviation: sample / 2,
        }
    }

    /// Returns the estimate with one more sample.
    pub fn with(self, sample: Duration) -> Self {
        let error = sample.abs_diff(self.smoothed);
        Self {
            smoothed: self.smoothed - self.smoothed / 8 + sample / 8,
            deviation: self.deviation - self.deviation / 4 + error / 4,
        }
    }

    /// Returns the estimate with one more sample, where each average is rounded once and not in both of its parts. It
    /// differs from [`with`](Self::with) by nanoseconds, on which published figures rest.
    pub fn with_rounded_once(self, sample: Duration) -> Self {
        let error = sample.abs_diff(self.smoothed);
        Self {
            smoothed: (self.smoothed * 7 + sample) / 8,
            deviation: (self.deviation * 3 + error) / 4,
        }
    }

    /// Returns a span that few round trips exceed: the average and four deviations, these at least `margin`.
    pub fn timeout(self, margin: Duration) -> Duration {
        self.smoothed + (self.deviation * 4).max(margin)
    }
}
