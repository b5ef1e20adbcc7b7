//! The rate at which bytes arrive.

use std::collections::VecDeque;

use units::{BitRate, Bytes, Duration, Instant};

use super::delays::Extreme;

/// Least time that a rate spans: several service intervals of cellular and Wi-Fi links.
const SPAN: Duration = Duration::from_millis(80);
/// Least number of frames that it spans.
const FRAMES: u64 = 6;
/// Number of spans without arrivals that make an outage: the rate before it is not mixed with that after it.
const OUTAGE: i64 = 4;
/// Limit of remembered arrivals: more than fit in a span, unless the peer's clock stands still.
const ARRIVALS_MAX: usize = 1_024;
/// Least number of remembered arrivals.
const ARRIVALS_LEAST: usize = 3;
/// Memory of a peak.
const PEAK_WINDOW: Duration = Duration::from_millis(2_500);
const CREST_WINDOW: Duration = Duration::from_secs(10);
const SURE_WINDOW: Duration = Duration::from_millis(500);
/// Limit of the lost bytes that count as carried, as a share of those that arrive: beyond it, the hop drops them.
const CARRIED_MOST: (u64, u64) = (3, 2);

/// One arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived {
    /// Time in microseconds, by the peer's clock.
    pub(crate) at: i64,
    /// Bytes sent up to it, lost ones included.
    pub(crate) sent: u64,
    /// Lost bytes among them.
    pub(crate) lost: u64,
    /// Bytes among them that were lost to a full queue.
    pub(crate) dropped: u64,
}

/// The recent rate.
#[derive(Debug)]
pub(crate) struct Deliveries {
    recent: VecDeque<Arrived>,
    /// Time since which the queue was not empty, by the peer's clock.
    busy_since: Option<i64>,
    /// True if a whole span was measured since the last outage.
    is_whole: bool,
    peak: Extreme,
    /// The highest rate over a longer time.
    crest: Extreme,
    sure: Extreme,
}

impl Default for Deliveries {
    fn default() -> Self {
        Self {
            recent: VecDeque::new(),
            busy_since: None,
            is_whole: false,
            peak: Extreme::largest(PEAK_WINDOW),
            crest: Extreme::largest(CREST_WINDOW),
            sure: Extreme::largest(SURE_WINDOW),
        }
    }
}

impl Deliveries {
    /// Records an arrival, and whether the hop was busy since the previous one; a `frame` takes this long. Returns the
    /// recent rate, and true if this is all that the hop could carry, because the queue was never empty.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        arrived: Arrived,
        busy: bool,
        frame: Duration,
    ) -> Option<(BitRate, bool)> {
        let span_min = SPAN.max(frame * FRAMES).as_micros() as i64;
        let gap = self.recent.back().map_or(0, |last| arrived.at - last.at);
        let known = self.peak.get().is_some();
        if gap < 0 || (gap > span_min * OUTAGE && self.is_whole && known) {
            self.begin_path();
        }
        if self.recent.len() == ARRIVALS_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(arrived);
        self.busy_since = busy.then(|| self.busy_since.unwrap_or(arrived.at));
        let long = |second: &Arrived| arrived.at - second.at >= span_min;
        while self.recent.len() > ARRIVALS_LEAST && self.recent.get(1).is_some_and(long) {
            self.recent.pop_front();
        }
        let first = *self.recent.front()?;
        let span = arrived.at - first.at;
        self.is_whole |= span >= span_min;
        if span < span_min / 16 || self.recent.len() < ARRIVALS_LEAST || (known && span < span_min)
        {
            return None;
        }
        let measured = self.rate_since(now, first, arrived, span.max(span_min / 4))?;
        let was_busy = self.busy_since.is_some_and(|since| since <= first.at);
        Some((measured, was_busy))
    }

    /// Measures from the next arrival on, and does not mix what came before with what comes now.
    pub(crate) fn begin_path(&mut self) {
        self.recent.clear();
        self.is_whole = false;
        self.busy_since = None;
    }

    fn rate_since(
        &mut self,
        now: Instant,
        first: Arrived,
        arrived: Arrived,
        span: i64,
    ) -> Option<BitRate> {
        let span = Duration::from_micros(span as u64);
        let rate = |bytes: u64| BitRate::of(Bytes::new(bytes), span);
        let sent = arrived.sent.saturating_sub(first.sent);
        let came = rate(sent.saturating_sub(arrived.lost.saturating_sub(first.lost)))?;
        let carried = rate(sent.saturating_sub(arrived.dropped.saturating_sub(first.dropped)))?;
        let sure = self.sure.note(now, came.bits_per_second() as i64) as u64;
        let (numerator, denominator) = CARRIED_MOST;
        let most = BitRate::from_bits_per_second(sure).scaled(numerator, denominator);
        Some(carried.min(most))
    }

    /// Records that the hop can carry this rate, which is more than a lower bound.
    pub(crate) fn believe(&mut self, now: Instant, rate: BitRate) {
        self.peak.note(now, rate.bits_per_second() as i64);
        self.crest.note(now, rate.bits_per_second() as i64);
    }

    /// Returns the bytes sent within the last span.
    pub(crate) fn bytes(&self) -> u64 {
        let ends = self.recent.front().zip(self.recent.back());
        ends.map_or(0, |(first, last)| last.sent.saturating_sub(first.sent))
    }

    /// Returns the highest recent rate.
    pub(crate) fn peak(&self) -> Option<BitRate> {
        let peak = self.peak.get()?;
        Some(BitRate::from_bits_per_second(peak.max(0) as u64))
    }

    /// Returns the highest rate of the last 10 to 20 seconds.
    pub(crate) fn crest(&self) -> Option<BitRate> {
        let crest = self.crest.get()?;
        Some(BitRate::from_bits_per_second(crest.max(0) as u64))
    }

    /// Returns the number of bytes allocated, without the size of the type.
    pub(crate) fn memory(&self) -> usize {
        self.recent.capacity() * size_of::<Arrived>()
    }
}
