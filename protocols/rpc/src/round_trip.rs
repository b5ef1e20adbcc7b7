//! How long calls take.

use machine::RoundTripEstimate;
use units::Duration;

/// The smoothed time from a call to its reply, and the shortest time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The average and the deviation from it.
    pub usual: RoundTripEstimate,
    /// The shortest of late: a longer sample makes it longer by a 256th part, since the way may be another.
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

    /// Returns true if a span is that of the fastest calls, to an eighth: what took so long waited for nothing.
    pub fn is_fastest(self, span: Duration) -> bool {
        span.abs_diff(self.fastest) <= self.fastest / 8
    }
}
