//! The round-trip time of the hop.

use machine::RoundTripEstimate;
use units::{Duration, Instant};

use crate::stall::AckDelayEstimate;

/// Round-trip time assumed before the first sample (RFC 9002 §6.2.2 has 333 ms).
const INITIAL: Duration = Duration::from_millis(333);
/// Times that a frame of full length may take as long as a message of a handshake, where the rate is all that counts.
const LONGER_THAN_HANDSHAKE: u64 = 6;
/// Time for which a smallest round trip is remembered.
const WINDOW: Duration = Duration::from_secs(20);
/// Largest number of doublings of the retransmission timeout.
const DOUBLINGS_MAX: u32 = 6;

/// The estimate of the round-trip time, and the smallest recent one.
#[derive(Debug, Default)]
pub(crate) struct RoundTrip {
    /// Additional delay of the other end's acknowledgements.
    pub(crate) lateness: AckDelayEstimate,
    /// Time that the handshake has taken, which a round trip of its short messages does not exceed.
    pub(crate) handshake: Option<Duration>,
    estimate: Option<RoundTripEstimate>,
    smallest: Option<(Instant, Duration)>,
    candidate: Option<(Instant, Duration)>,
    /// Number of fades since the last sample that ended with a frame which took longer than the timeout.
    slow_ends: u32,
}

impl RoundTrip {
    /// Adds one sample, free of the time that the acknowledgement waited.
    pub(crate) fn sample(&mut self, now: Instant, sample: Duration) {
        self.slow_ends = 0;
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

    /// Returns the smoothed round-trip time, or the assumed one before the first sample.
    pub(crate) fn smoothed(&self) -> Duration {
        self.estimate.map_or(INITIAL, |known| known.smoothed)
    }

    /// Returns the smallest round-trip time of the last 20 to 40 seconds (the hop without queues), or the assumed
    /// one.
    pub(crate) fn smallest(&self) -> Duration {
        self.measured().unwrap_or(INITIAL)
    }

    /// Returns the smallest round-trip time, once one has been measured.
    pub(crate) fn measured(&self) -> Option<Duration> {
        self.smallest.map(|(_, least)| least)
    }

    /// Records the round trip of the frame that ended a fade, in which it left: it may have waited, so it is no sample.
    pub(crate) fn fade_ended(&mut self, round_trip: Duration) {
        self.slow_ends = if round_trip > self.patience(Duration::ZERO) {
            self.slow_ends.saturating_add(1)
        } else {
            0
        };
    }

    /// Returns the retransmission timeout for an acknowledgement that may itself be `delayed`: as in RFC 9002 §6.2.1,
    /// with at least a quarter of a round trip, in which further acknowledgements follow lost ones. A recent lateness
    /// of the other end adds to it.
    ///
    /// It does not back off in a silence, but from one to the next if no frame between them gives a sample: on a hop
    /// that has become slower than the estimate, each acknowledgement seems to end a fade.
    pub(crate) fn patience(&self, delayed: Duration) -> Duration {
        let delayed = delayed.max(self.lateness.expected());
        let backed_off = |timeout: Duration| {
            let doublings = self.slow_ends.saturating_sub(1).min(DOUBLINGS_MAX);
            timeout * (1 << doublings)
        };
        match self.estimate {
            Some(known) => backed_off(known.timeout(known.smoothed / 4)) + delayed,
            None => backed_off(self.first_timeout(delayed)),
        }
    }

    fn first_timeout(&self, delayed: Duration) -> Duration {
        let most = INITIAL * 4;
        self.handshake.map_or(most, |lasted| {
            most.min(lasted * LONGER_THAN_HANDSHAKE + delayed)
        })
    }
}
