//! The round trip of a connection: which packets are timed, and which samples count (Karn 1987).

use machine::RoundTripEstimate;
use units::{Duration, Instant};

/// Packets in a row that are timed: the acknowledgement of one may wait for others.
const TIMED: usize = 32;

/// The longest round trip that is believed of another endpoint.
const LONGEST: Duration = Duration::from_secs(3_600);

/// A few packets in a row whose answer is waited for.
#[derive(Debug, Clone, Copy)]
struct Timed {
    /// What an acknowledgement of the first one reaches.
    first: u64,
    /// When each was sent.
    at: [Option<Instant>; TIMED],
}

/// Round trips so far, and what is timed.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoundTrip {
    estimate: Option<RoundTripEstimate>,
    timed: Option<Timed>,
}

impl RoundTrip {
    /// Times what is acknowledged at `mark`, unless something is timed.
    pub(crate) fn time(&mut self, mark: u64, now: Instant) {
        self.timed.get_or_insert_with(|| Timed {
            first: mark,
            at: std::array::from_fn(|place| (place == 0).then_some(now)),
        });
    }

    /// Times the packet with this `number`, or notes when it was sent if others are timed.
    pub(crate) fn time_packet(&mut self, number: u64, now: Instant) {
        self.time(number, now);
        let Some(timed) = &mut self.timed else { return };
        if let Some(at) = timed.at.get_mut((number - timed.first) as usize) {
            *at = Some(now);
        }
    }

    /// What is timed would say nothing (Karn): something was sent again.
    pub(crate) fn forget(&mut self) {
        self.timed = None;
    }

    /// Everything up to `mark` is acknowledged.
    pub(crate) fn reached(&mut self, mark: u64, now: Instant) {
        let timed = self.timed.take_if(|timed| timed.first <= mark);
        if let Some(at) = timed.and_then(|timed| timed.at[0]) {
            self.sample(now.since(at));
        }
    }

    /// The packet with this `number` arrived, and was the last that did.
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
            // A deviation of nothing means that there is no sample, so the least is a nanosecond.
            [known.smoothed, known.deviation.max(Duration::from_nanos(1))]
        })
    }

    /// Goes on from an estimate.
    pub(crate) fn resume(&mut self, estimate: [Duration; 2]) {
        let [smoothed, deviation] = estimate.map(|span| span.min(LONGEST));
        self.estimate = (!deviation.is_zero()).then_some(RoundTripEstimate {
            smoothed,
            deviation,
        });
    }

    /// Returns the smoothed round trip.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.estimate.map(|known| known.smoothed)
    }

    /// Returns the retransmission timeout: the smoothed round trip and four mean deviations, without back-off.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.estimate.map(|known| known.timeout(Duration::ZERO))
    }
}
