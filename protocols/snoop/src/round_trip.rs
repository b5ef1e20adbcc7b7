//! The round trip of the hop, as acknowledgements show it.
//!
//! This is not [`machine::RoundTripEstimate`]: the papers' agent keeps no deviation, and its gain is a setting.

use units::{Duration, Instant, SeqNumber};

use crate::config::Timing;

/// The smoothed round trip. One segment is timed per window, and none that was repeated meanwhile
/// (WINET 1995).
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

    /// What ends at `end` leaves now.
    pub(crate) fn sent(&mut self, now: Instant, end: SeqNumber) {
        self.timed.get_or_insert((end, now));
    }

    /// Something was repeated: no sample from this window.
    pub(crate) fn spoil(&mut self) {
        self.timed = None;
    }

    /// Everything before `number` has arrived.
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

    /// The estimate.
    pub(crate) fn smoothed(&self, timing: &Timing) -> Duration {
        self.smoothed.unwrap_or(timing.initial_round_trip)
    }

    /// How long to wait for news of a repair: twice the round trip, within bounds.
    pub(crate) fn timeout(&self, timing: &Timing) -> Duration {
        (self.smoothed(timing) * 2).max(timing.minimum_timeout)
    }
}
