//! The rate of the hop, from the times at which frames arrive.
//!
//! Two things are measured from pairs of transmissions that arrived: how long the later one waited
//! in the hop (its delay above the smallest of late), and at which rate the bytes between the two got
//! through. While the wait grows, that rate is the hop's; otherwise it is only a lower bound. The pace is the
//! rate, a little more while less than the wanted wait is measured, a little less while more is:
//! a queue integrates, so this finds the rate exactly, whatever the measurement's bias.
//!
//! *Start*: twice the measured rate until frames wait. *Growth*: the same correction; a quarter a round trip
//! once the hop has stayed empty for some. *Idle*: the rate stays. *Application-limited*: lower bounds only raise it.

use std::collections::VecDeque;

use arq::Sample;
use units::{BitRate, Bytes, Duration, Instant};

use crate::BLIND_PACE;

/// The rate before anything is known: ten full frames in about 12 ms.
const INITIAL: BitRate = BitRate::from_megabits(10);
/// Slower than this is not believed.
const LEAST: BitRate = BitRate::from_kilobits(4);
/// A full frame on the wire, in bytes: what frames are taken for at first.
const FRAME: u64 = 1_514;
/// The mean size of frames forgets one part in so many with each.
const FRAMES: u64 = 16;
/// The least wait that is aimed at: several times what clocks and schedulers blur.
const TARGET_MIN: Duration = Duration::from_millis(4);
/// Arrivals that a measured rate spans, at least.
const SPAN_MIN: Duration = Duration::from_millis(8);
/// And a third of a round trip, but no more than this.
const SPAN_LONG: Duration = Duration::from_millis(40);
/// An older arrival says nothing of the rate now.
const SPAN_MAX: Duration = Duration::from_millis(400);
/// Arrivals remembered: more than fit in a span, unless the other end's clock stands still.
const ARRIVALS_MAX: usize = 1_024;
/// How long a smallest delay is remembered, at most twice: clocks drift, routes change.
const BASE_WINDOW: Duration = Duration::from_secs(10);
/// The correction for the whole wanted wait takes so long, at least.
const CORRECTION_MIN: Duration = Duration::from_millis(100);
/// A wait grows if it does by one part in so many of the time that it is watched.
const GROWTH: i64 = 50;
/// Growth of a wait, in microseconds, that is no noise.
const STRETCH_MIN: i64 = 20_000;
/// Bytes that arrived meanwhile, at least, for that to tell a rate: what delays a frame or two may be a host that is
/// busy. The next arrival shows which.
const STRETCHED_MIN: u64 = 6 * FRAME;
/// A new measurement weighs one in so many.
const WEIGHT: u64 = 8;

/// One arrival.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    /// When, by the other end's clock, unwrapped.
    at: i64,
    sent_total: u64,
    /// From its departure by our clock; only differences mean anything.
    delay: i64,
    wait: i64,
}

/// What is known of the hop's rate.
#[derive(Debug)]
pub(crate) struct Estimate {
    rate: BitRate,
    pace: BitRate,
    starting: bool,
    recent: VecDeque<Arrived>,
    base: Base,
    wait: i64,
    drain_until: Instant,
    /// Since when nothing worth mentioning waits in the hop.
    empty_since: Option<Instant>,
    measured: bool,
    stretched: bool,
    /// The rate, if it was that which made the last arrival late: too little came with it to tell.
    doubtful: Option<BitRate>,
    /// A frame as they are of late, in bytes.
    frame: u64,
}

/// The smallest delay of late, in microseconds between two clocks that do not agree.
#[derive(Debug, Default)]
struct Base {
    current: Option<i64>,
    before: Option<i64>,
    since: Instant,
}

impl Base {
    /// Notes a delay; returns the smallest, and whether a new window has begun.
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
    /// The rate of the hop.
    pub(crate) fn rate(&self) -> BitRate {
        self.rate
    }

    /// Whether the rate still doubles, since nothing has been seen to wait.
    pub(crate) fn is_starting(&self) -> bool {
        self.starting
    }

    /// Whether a rate has been measured yet.
    pub(crate) fn has_measured(&self) -> bool {
        self.measured
    }

    /// Bytes that it holds beside its own.
    pub(crate) fn memory(&self) -> usize {
        self.recent.capacity() * size_of::<Arrived>()
    }

    /// The rate at which to send now.
    pub(crate) fn pace(&self) -> BitRate {
        self.pace
    }

    /// How long frames wait in the hop.
    pub(crate) fn queueing(&self) -> Duration {
        Duration::from_micros(self.wait.max(0) as u64)
    }

    /// A frame of so many bytes is sent: a way that carries little but acknowledgements has other waits than
    /// one that is full of data.
    pub(crate) fn sent(&mut self, bytes: Bytes) {
        self.frame = (self.frame * (FRAMES - 1) + bytes.get()).div_ceil(FRAMES);
    }

    /// Learns from an arrival.
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
            // Drained for as long as a quarter less takes to empty what waits, without feedback.
            self.drain_until = now + self.queueing() * 4;
        }
        self.correct(now, target, sample.round_trip);
    }

    /// The other end's clock, from its low 32 bits of microseconds.
    fn unwrap(&self, arrival: u32) -> i64 {
        let Some(last) = self.recent.back() else {
            return i64::from(arrival);
        };
        last.at + i64::from(arrival.wrapping_sub(last.at as u32).cast_signed())
    }

    fn target(&self) -> Duration {
        TARGET_MIN.max(self.rate.time_for(Bytes::new(self.frame)).scaled(5, 4))
    }

    /// The rate since the latest arrival that lies far enough back, and whether frames waited.
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
        // A short wait that does not grow tells nothing of the rate: it may be the hop's own delay, taken
        // for a wait because the smallest was noise.
        let growth = now.delay - first.delay;
        let grows = growth * GROWTH > span;
        // What takes half as long again to arrive as to leave has met its bottleneck.
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
            // What the full queue of the hop drops counts as sent, so a deep queue raises nothing.
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
