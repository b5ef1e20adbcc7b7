//! The round-trip time of the hop, measured by acknowledgements.
//!
//! This is not [`machine::RoundTripEstimate`]: the papers' agent keeps no deviation, and its gain is a setting.

use units::{Duration, Instant, SeqNumber};

use crate::config::Timing;

/// Smoothed round-trip time. One segment is timed per window, and none that was repeated meanwhile (WINET 1995).
#[derive(Debug)]
pub(crate) struct RoundTrip {
    smoothed: Option<Duration>,
    timed: Option<(SeqNumber, Instant)>,
}

impl RoundTrip {
    pub(crate) const fn new() -> Self {
        Self {
            smoothed: None,
            timed: None,
        }
    }

    /// Notes that the segment which ends at `end` is sent now.
    pub(crate) fn sent(&mut self, now: Instant, end: SeqNumber) {
        self.timed.get_or_insert((end, now));
    }

    /// Drops the sample of this window, after a retransmission.
    pub(crate) fn spoil(&mut self) {
        self.timed = None;
    }

    /// Notes that everything before `number` has arrived.
    pub(crate) fn arrived(&mut self, now: Instant, number: SeqNumber, timing: &Timing) {
        let Some((_, sent_at)) = self.timed.take_if(|(end, _)| *end <= number) else {
            return;
        };
        let sample = now.since(sent_at);
        let gain = timing.gain_per_mille.min(1_000);
        self.smoothed = Some(self.smoothed.map_or(sample, |smoothed| {
            smoothed.scaled(1_000 - gain, 1_000) + sample.scaled(gain, 1_000)
        }));
    }

    /// Returns the smoothed round-trip time.
    pub(crate) fn smoothed(&self, timing: &Timing) -> Duration {
        self.smoothed.unwrap_or(timing.initial_round_trip)
    }

    /// Returns the timeout of a repair: twice the round-trip time, within limits.
    pub(crate) fn timeout(&self, timing: &Timing) -> Duration {
        (self.smoothed(timing) * 2).max(timing.minimum_timeout)
    }
}
