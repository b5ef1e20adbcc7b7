//! The smoothed round trip and its mean deviation (Jacobson 1988), in ticks.
//!
//! This is BSD's arithmetic of shifts, whose rounding decides when a timer of coarse ticks fires: the tables of the
//! papers depend on it, and exact times ([`RoundTripEstimate`]) cannot express it.

use machine::RoundTripEstimate;
use units::Duration;

/// Estimate of the round-trip time.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoundTrip {
    /// Smoothed round trip, in eighths of a tick; zero if the next sample is the first.
    smoothed: i64,
    /// Mean deviation, in quarters of a tick.
    deviation: i64,
    /// Average and deviation from exact times, for uses that must not wait for ticks.
    exact: Option<RoundTripEstimate>,
}

impl RoundTrip {
    /// Adds a sample of `ticks`, exactly `span`.
    pub(crate) fn sample(&mut self, ticks: u64, span: Duration) {
        // No peer can cause an absurd sample: it lies between two of our own ticks, or is clamped.
        let ticks = ticks.min(1 << 32) as i64;
        if self.smoothed == 0 {
            // A measurement of n ticks may have taken up to n + 1.
            self.smoothed = (ticks + 1) << 3;
            self.deviation = (ticks + 1) << 1;
        } else {
            let error = ticks - (self.smoothed >> 3);
            self.smoothed = (self.smoothed + error).max(1);
            let change = error.abs() - (self.deviation >> 2);
            self.deviation = (self.deviation + change).max(1);
        }
        self.exact = Some(
            self.exact
                .map_or(RoundTripEstimate::first(span), |known| known.with(span)),
        );
    }

    /// Returns the smoothed round trip plus four mean deviations, these at least `margin`, in ticks; `None` before
    /// there is a sample.
    pub(crate) fn timeout(&self, margin: u64) -> Option<u64> {
        let smoothed = (self.smoothed >> 3) as u64;
        (self.deviation > 0).then(|| smoothed + (self.deviation as u64).max(margin))
    }

    /// Discards the estimate, as the path may have changed: the next sample counts as the first, and until then the
    /// timeout stays unchanged.
    pub(crate) fn forget(&mut self) {
        self.deviation += self.smoothed >> 3;
        self.smoothed = 0;
    }

    /// Returns a time that few round trips exceed: the exact average plus four deviations.
    pub(crate) fn most(&self) -> Option<Duration> {
        self.exact.map(|known| known.timeout(Duration::ZERO))
    }

    /// Returns the smoothed round trip; `None` before there is a sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.exact.map(|known| known.smoothed)
    }
}
