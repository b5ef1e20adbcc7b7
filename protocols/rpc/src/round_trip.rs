//! The round-trip estimate of calls.

use machine::RoundTripEstimate;
use units::Duration;

/// Round-trip estimate of calls: the smoothed time to the reply, and the shortest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Average and mean deviation.
    pub usual: RoundTripEstimate,
    /// Shortest recent time: a longer sample raises it by 1/256, since the route may have changed.
    pub fastest: Duration,
}

impl RoundTrip {
    /// Returns the estimate from one sample.
    pub fn first(sample: Duration) -> Self {
        Self {
            usual: RoundTripEstimate::first(sample),
            fastest: sample,
        }
    }

    /// Returns the estimate with one more sample.
    pub fn with(self, sample: Duration) -> Self {
        Self {
            usual: self.usual.with(sample),
            fastest: (self.fastest + self.fastest / 256).min(sample),
        }
    }

    /// Returns true if a time is that of the fastest calls, to an eighth: such a call waited in no queue.
    pub fn is_fastest(self, span: Duration) -> bool {
        span.abs_diff(self.fastest) <= self.fastest / 8
    }
}
