//! How long the hop takes.

use machine::RoundTripEstimate;
use units::{Duration, Instant};

use crate::stall::Lateness;

/// The round trip that is assumed before the first sample (RFC 9002 §6.2.2 has 333 ms).
const INITIAL: Duration = Duration::from_millis(333);
/// How long a smallest round trip is remembered.
const WINDOW: Duration = Duration::from_secs(20);

/// The estimate of the round trip, and the smallest seen of late.
#[derive(Debug, Default)]
pub(crate) struct RoundTrip {
    /// How late the other end is beside.
    pub(crate) lateness: Lateness,
    estimate: Option<RoundTripEstimate>,
    smallest: Option<(Instant, Duration)>,
    candidate: Option<(Instant, Duration)>,
}

impl RoundTrip {
    /// Takes in one sample, free of the time that the acknowledgement waited.
    pub(crate) fn sample(&mut self, now: Instant, sample: Duration) {
        self.estimate = Some(
            self.estimate
                .map_or(RoundTripEstimate::first(sample), |known| {
                    known.with_rounded_once(sample)
                }),
        );
        let lower = |old: Option<(Instant, Duration)>| old.is_none_or(|(_, least)| sample <= least);
        if lower(self.candidate) {
            self.candidate = Some((now, sample));
        }
        let stale = self.smallest.is_none_or(|(at, _)| now.since(at) > WINDOW);
        if lower(self.smallest) {
            self.smallest = Some((now, sample));
            self.candidate = None;
        } else if stale {
            self.smallest = self.candidate.take();
        }
    }

    /// The smoothed round trip, or what is assumed before the first sample.
    pub(crate) fn smoothed(&self) -> Duration {
        self.estimate.map_or(INITIAL, |known| known.smoothed)
    }

    /// The smallest round trip of the last 20 to 40 seconds: the hop without queues.
    pub(crate) fn smallest(&self) -> Duration {
        self.measured().unwrap_or(INITIAL)
    }

    /// The same, without a guess before the first sample.
    pub(crate) fn measured(&self) -> Option<Duration> {
        self.smallest.map(|(_, least)| least)
    }

    /// How long to wait for an acknowledgement that may itself be `delayed`, before the frame is
    /// presumed lost: as RFC 9002 §6.2.1, without its back-off, and with a quarter of a round trip at
    /// least, in which acknowledgements that got lost are followed by others. An end that was late of late may be so
    /// again.
    pub(crate) fn patience(&self, delayed: Duration) -> Duration {
        let delayed = delayed.max(self.lateness.expected());
        self.estimate.map_or(INITIAL * 4, |known| {
            known.timeout(known.smoothed / 4) + delayed
        })
    }
}
