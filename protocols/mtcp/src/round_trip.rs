//! The round-trip time of a connection: the timed packets, and the valid samples (Karn 1987).

use machine::RoundTripEstimate;
use units::{Duration, Instant};

/// Number of successive packets that are timed: the acknowledgement of one may wait for others.
const TIMED: usize = 32;

/// Longest round trip accepted from a resumed state.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Successive packets whose answer is awaited.
#[derive(Debug, Clone, Copy)]
struct Timed {
    /// Number or position that an acknowledgement of the first packet reaches.
    first: u64,
    /// Time at which each was sent.
    at: [Option<Instant>; TIMED],
}

/// Round-trip estimate, and the packets being timed.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoundTrip {
    estimate: Option<RoundTripEstimate>,
    timed: Option<Timed>,
}

impl RoundTrip {
    /// Times the acknowledgement of `mark`, unless something is timed already.
    pub(crate) fn time(&mut self, mark: u64, now: Instant) {
        self.timed.get_or_insert_with(|| Timed {
            first: mark,
            at: std::array::from_fn(|place| (place == 0).then_some(now)),
        });
    }

    /// Times the packet with this `number`, or notes its sending time if earlier packets are timed.
    pub(crate) fn time_packet(&mut self, number: u64, now: Instant) {
        self.time(number, now);
        let Some(timed) = &mut self.timed else { return };
        if let Some(at) = timed.at.get_mut((number - timed.first) as usize) {
            *at = Some(now);
        }
    }

    /// Stops the timing after a retransmission: its sample would be ambiguous (Karn).
    pub(crate) fn forget(&mut self) {
        self.timed = None;
    }

    /// Notes that everything up to `mark` is acknowledged.
    pub(crate) fn reached(&mut self, mark: u64, now: Instant) {
        let timed = self.timed.take_if(|timed| timed.first <= mark);
        if let Some(at) = timed.and_then(|timed| timed.at[0]) {
            self.sample(now.since(at));
        }
    }

    /// Notes that the packet with this `number` arrived, and was the last that did.
    pub(crate) fn reached_packet(&mut self, number: u64, now: Instant) {
        let Some(timed) = self.timed.take_if(|timed| timed.first <= number) else {
            return;
        };
        // That packet may have been sent long after the first one, which then was lost.
        let at = timed.at.get((number - timed.first) as usize);
        if let Some(at) = at.copied().flatten() {
            self.sample(now.since(at));
        }
    }

    fn sample(&mut self, span: Duration) {
        self.estimate = Some(
            self.estimate
                .map_or(RoundTripEstimate::first(span), |known| known.with(span)),
        );
    }

    /// Returns the smoothed round trip and its deviation, as the state of a connection has them; zero before there is a
    /// sample.
    pub(crate) fn estimate(&self) -> [Duration; 2] {
        self.estimate.map_or([Duration::ZERO; 2], |known| {
            // A deviation of zero means that there is no sample, so the least is a nanosecond.
            [known.smoothed, known.deviation.max(Duration::from_nanos(1))]
        })
    }

    /// Resumes with an estimate.
    pub(crate) fn resume(&mut self, estimate: [Duration; 2]) {
        let [smoothed, deviation] = estimate.map(|span| span.min(LONGEST));
        self.estimate = (!deviation.is_zero()).then_some(RoundTripEstimate {
            smoothed,
            deviation,
        });
    }

    /// Returns the smoothed round trip, after the first sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.estimate.map(|known| known.smoothed)
    }

    /// Returns the retransmission timeout: the smoothed round trip and four mean deviations, without back-off.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.estimate.map(|known| known.timeout(Duration::ZERO))
    }
}
