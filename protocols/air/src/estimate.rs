//! The rate of the hop, from the times at which frames arrive.
//!
//! Pairs of transmissions that arrived give two measurements: the wait of the later one in the hop (its delay above the
//! smallest recent one), and the rate at which the bytes between the two got through. While the wait grows, that rate
//! is the hop's; otherwise it is only a lower bound. The pace is the rate, a little more while less than the wanted
//! wait is measured, and a little less while more is measured. A queue integrates, so this finds the rate exactly,
//! whatever the measurement's bias.
//!
//! *Start*: twice the measured rate until frames wait. *Growth*: the same correction; a quarter per round trip once the
//! hop has stayed empty for some time. *Idle*: the rate stays. *Application-limited*: lower bounds only raise it.

use std::collections::VecDeque;

use arq::Sample;
use units::{BitRate, Bytes, Duration, Instant};

use crate::BLIND_PACE;

/// Rate before any measurement: ten full frames in about 12 ms.
const INITIAL: BitRate = BitRate::from_megabits(10);
/// Least rate that is considered plausible.
const LEAST: BitRate = BitRate::from_kilobits(4);
/// A full frame on the wire, in bytes: the initial estimate of the frame size.
const FRAME: u64 = 1_514;
/// Divisor of the moving average of frame sizes.
const FRAMES: u64 = 16;
/// Least wanted wait: several times the noise of clocks and schedulers.
const TARGET_MIN: Duration = Duration::from_millis(4);
/// Least time that a measured rate spans.
const SPAN_MIN: Duration = Duration::from_millis(8);
/// The span is also a third of a round trip, but at most this.
const SPAN_LONG: Duration = Duration::from_millis(40);
/// Age above which an arrival does not count for the present rate.
const SPAN_MAX: Duration = Duration::from_millis(400);
/// Limit of remembered arrivals: more than fit in a span, unless the peer's clock stands still.
const ARRIVALS_MAX: usize = 1_024;
/// Memory of the smallest delay, at most twice as long: clocks drift, and routes change.
const BASE_WINDOW: Duration = Duration::from_secs(10);
/// Least time over which the whole wanted wait is corrected.
const CORRECTION_MIN: Duration = Duration::from_millis(100);
/// Growth of a wait per time watched, as a divisor, above which it counts as growing.
const GROWTH: i64 = 50;
/// Growth of a wait, in microseconds, above which it is not noise.
const STRETCH_MIN: i64 = 20_000;
/// Least number of bytes that arrived meanwhile for a growing wait to give a rate: a delay of one or two frames may be
/// caused by a busy host. The next arrival shows which.
const STRETCHED_MIN: u64 = 6 * FRAME;
/// Divisor of the weight of a new measurement.
const WEIGHT: u64 = 8;

/// One arrival.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    /// Arrival time by the peer's clock, unwrapped.
    at: i64,
    sent_total: u64,
    /// Time since the departure by our clock; only differences are meaningful.
    delay: i64,
    wait: i64,
}

/// Estimate of the hop's rate.
#[derive(Debug)]
pub(crate) struct Estimate {
    rate: BitRate,
    pace: BitRate,
    starting: bool,
    recent: VecDeque<Arrived>,
    base: Base,
    wait: i64,
    drain_until: Instant,
    /// Time since which nearly nothing waits in the hop.
    empty_since: Option<Instant>,
    measured: bool,
    stretched: bool,
    /// Rate if the rate made the last arrival late: too few bytes came with it to be sure.
    doubtful: Option<BitRate>,
    /// Mean size of recent frames, in bytes.
    frame: u64,
}

/// The smallest recent delay, in microseconds between two clocks that do not agree.
#[derive(Debug, Default)]
struct Base {
    current: Option<i64>,
    before: Option<i64>,
    since: Instant,
}

impl Base {
    /// Records a delay; returns the smallest, and true if a new window has begun.
    fn note(&mut self, now: Instant, delay: i64) -> (i64, bool) {
        let fresh = now.since(self.since) > BASE_WINDOW;
        if fresh {
            self.before = self.current.take();
            self.since = now;
        }
        let current = self.current.map_or(delay, |least| least.min(delay));
        self.current = Some(current);
        (
            self.before.map_or(current, |before| before.min(current)),
            fresh,
        )
    }
}

impl Default for Estimate {
    fn default() -> Self {
        Self {
            rate: INITIAL,
            pace: INITIAL,
            starting: true,
            recent: VecDeque::new(),
            base: Base::default(),
            wait: 0,
            drain_until: Instant::ZERO,
            empty_since: None,
            measured: false,
            stretched: false,
            doubtful: None,
            frame: FRAME,
        }
    }
}

impl Estimate {
    /// Returns the rate of the hop.
    pub(crate) fn rate(&self) -> BitRate {
        self.rate
    }

    /// Returns true if the rate still doubles, because no frame has been seen to wait.
    pub(crate) fn is_starting(&self) -> bool {
        self.starting
    }

    /// Returns true if a rate has been measured.
    pub(crate) fn has_measured(&self) -> bool {
        self.measured
    }

    /// Returns the number of bytes allocated, without the size of the type.
    pub(crate) fn memory(&self) -> usize {
        self.recent.capacity() * size_of::<Arrived>()
    }

    /// Returns the rate at which to send now.
    pub(crate) fn pace(&self) -> BitRate {
        self.pace
    }

    /// Returns the time that frames wait in the hop.
    pub(crate) fn queueing(&self) -> Duration {
        Duration::from_micros(self.wait.max(0) as u64)
    }

    /// Records that a frame of `bytes` is sent: a path that carries little but acknowledgements has other waits than
    /// one that is full of data.
    pub(crate) fn sent(&mut self, bytes: Bytes) {
        self.frame = (self.frame * (FRAMES - 1) + bytes.get()).div_ceil(FRAMES);
    }

    /// Updates the estimate by an arrival.
    pub(crate) fn learn(&mut self, now: Instant, sample: &Sample) {
        let at = self.unwrap(sample.arrival);
        let delay = at - sample.sent_at.since_origin().as_micros() as i64;
        let (base, fresh) = self.base.note(now, delay);
        let arrived = Arrived {
            at,
            sent_total: sample.sent_total,
            delay,
            wait: delay - base,
        };
        let measured = self.measure(&arrived, sample.round_trip);
        if self.recent.len() == ARRIVALS_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(arrived);
        if let Some((measured, busy)) = measured {
            self.take(measured, busy);
        }
        let target = self.target();
        if fresh && self.wait > 1_000 {
            // Drained for as long as a rate that is a quarter lower takes to empty the queue, without feedback.
            self.drain_until = now + self.queueing() * 4;
        }
        self.correct(now, target, sample.round_trip);
    }

    /// Returns the peer's clock, from its low 32 bits of microseconds.
    fn unwrap(&self, arrival: u32) -> i64 {
        let Some(last) = self.recent.back() else {
            return i64::from(arrival);
        };
        last.at + i64::from(arrival.wrapping_sub(last.at as u32).cast_signed())
    }

    fn target(&self) -> Duration {
        TARGET_MIN.max(self.rate.time_for(Bytes::new(self.frame)).scaled(5, 4))
    }

    /// Returns the rate since the latest arrival that lies far enough back, and true if frames waited.
    fn measure(&mut self, now: &Arrived, round_trip: Duration) -> Option<(BitRate, bool)> {
        let frames = self.rate.time_for(Bytes::new(self.frame)) * 6;
        let span_min = SPAN_MIN.max(frames).max((round_trip / 3).min(SPAN_LONG));
        let span_min = span_min.as_micros() as i64;
        while self
            .recent
            .get(1)
            .is_some_and(|second| now.at - second.at >= span_min)
        {
            self.recent.pop_front();
        }
        // Noise only adds to a delay, so the smallest of a few is the best.
        self.wait = self
            .recent
            .iter()
            .map(|arrived| arrived.wait)
            .min()
            .unwrap_or(0)
            .min(now.wait);
        let first = *self.recent.front()?;
        let span = now.at - first.at;
        if span < span_min || span > (SPAN_MAX.as_micros() as i64).max(span_min * 2) {
            return None;
        }
        let bytes = Bytes::new(now.sent_total.saturating_sub(first.sent_total));
        let rate = BitRate::of(bytes, Duration::from_micros(span as u64))?;
        // A short wait that does not grow gives no rate: it may be the hop's own delay, which counts as a wait because
        // the smallest delay was noise.
        let growth = now.delay - first.delay;
        let grows = growth * GROWTH > span;
        // A group of frames that takes half as long again to arrive as to leave has met its bottleneck.
        let late = growth * 2 > span && growth > STRETCH_MIN;
        self.stretched = late && bytes.get() >= STRETCHED_MIN;
        self.doubtful = (late && !self.stretched).then_some(rate);
        let target = self.target();
        let busy = self.queueing() > target * 2 || (grows && self.queueing() > target / 2);
        Some((rate.max(LEAST), busy))
    }

    fn take(&mut self, measured: BitRate, busy: bool) {
        self.measured = true;
        let (old, new) = (self.rate.bits_per_second(), measured.bits_per_second());
        if self.starting && (self.stretched || self.queueing() > self.target() * 2) {
            self.starting = false;
            self.rate = measured;
        } else if busy {
            // Bytes that the full queue of the hop drops count as sent, so a deep queue raises nothing.
            let deep = self.queueing() > self.target() * 2;
            let new = if deep { new.min(old) } else { new };
            let moved = old - old / WEIGHT + new / WEIGHT;
            self.rate = BitRate::from_bits_per_second(moved).max(LEAST);
        } else if new > old {
            self.rate = BitRate::from_bits_per_second(old + (new - old) / 2);
        }
    }

    fn correct(&mut self, now: Instant, target: Duration, round_trip: Duration) {
        if now < self.drain_until {
            self.pace = self.rate.scaled(3, 4);
            return;
        }
        if self.starting {
            let doubled = self.rate.scaled(2, 1);
            let doubtful = self.doubtful.map(|rate| rate.max(BLIND_PACE));
            self.pace = doubtful.map_or(doubled, |rate| rate.min(doubled));
            return;
        }
        let empty = self.queueing() < target / 2;
        self.empty_since = empty.then(|| self.empty_since.unwrap_or(now));
        if self
            .empty_since
            .is_some_and(|since| now.since(since) > round_trip * 2 + CORRECTION_MIN)
        {
            self.pace = self.rate.scaled(5, 4);
            return;
        }
        let within = CORRECTION_MIN.max(round_trip * 2).as_micros() as i64;
        let short = target.as_micros() as i64 - self.wait;
        let thousandths = (short * 1000 / within).clamp(-500, 250);
        self.pace = self.rate.scaled((1000 + thousandths) as u64, 1000);
    }
}
