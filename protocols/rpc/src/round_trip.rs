//! How long calls take.

use units::Duration;

/// The smoothed time from a call to its reply and its mean deviation (Jacobson 1988), and the shortest time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The average; a new sample weighs an eighth.
    pub smoothed: Duration,
    /// The mean distance from the average; a new one weighs a quarter.
    pub deviation: Duration,
    /// The shortest of late: a longer sample makes it longer by a 256th part, since the way may be another.
    pub fastest: Duration,
}

impl RoundTrip {
    /// The estimate from one sample.
    pub fn first(sample: Duration) -> Self {
        Self {
            smoothed: sample,
            deviation: sample / 2,
            fastest: sample,
        }
    }

    /// The estimate with one more sample.
    pub fn with(self, sample: Duration) -> Self {
        let error = sample.abs_diff(self.smoothed);
        Self {
            smoothed: self.smoothed - self.smoothed / 8 + sample / 8,
            deviation: self.deviation - self.deviation / 4 + error / 4,
            fastest: (self.fastest + self.fastest / 256).min(sample),
        }
    }

    /// A span that few calls exceed: the average and four deviations.
    pub fn most(self) -> Duration {
        self.smoothed + self.deviation * 4
    }

    /// Whether a span is that of the fastest calls, to an eighth: what took so long waited for nothing.
    pub fn is_fastest(self, span: Duration) -> bool {
        span.abs_diff(self.fastest) <= self.fastest / 8
    }
}
