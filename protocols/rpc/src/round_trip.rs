//! How long calls take.

use units::Duration;

/// The smoothed time from a call to its reply and its mean deviation (Jacobson 1988).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The average; a new sample weighs an eighth.
    pub smoothed: Duration,
    /// The mean distance from the average; a new one weighs a quarter.
    pub deviation: Duration,
}

impl RoundTrip {
    /// The estimate from one sample.
    pub fn first(sample: Duration) -> Self {
        Self {
            smoothed: sample,
            deviation: sample / 2,
        }
    }

    /// The estimate with one more sample.
    pub fn with(self, sample: Duration) -> Self {
        let error = sample.abs_diff(self.smoothed);
        Self {
            smoothed: self.smoothed - self.smoothed / 8 + sample / 8,
            deviation: self.deviation - self.deviation / 4 + error / 4,
        }
    }

    /// A span that few calls exceed: the average and four deviations.
    pub fn most(self) -> Duration {
        self.smoothed + self.deviation * 4
    }
}
