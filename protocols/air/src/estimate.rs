//! The rate of the hop, from the times at which frames arrive.
//!
//! Pairs of transmissions that arrived give two measurements: the wait of the later one in the hop (its delay above the
//! smallest recent one), and the rate at which the bytes between the two got through. While the wait grows, that rate
//! is the hop's; otherwise it is only a lower bound. The pace is the rate, a little more while less than the wanted
//! wait is measured, and a little less while more is measured. A queue integrates, so this finds the rate exactly,
//! whatever the measurement's bias.
//!
//! *Start*: twice the measured rate until frames wait. *Growth*: the same correction; a quarter per round trip once the
//! hop has stayed empty for some time, and more the longer it does so although the air is in use. *Idle*: the rate
//! stays. *Application-limited*: the air was idle meanwhile, and the hop too if a frame came later than the one before
//! it had to leave. What arrives then gives a lower bound, which only raises the rate.

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
/// Age above which an arrival does not count for the present rate: there may have been an outage.
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
/// Number of arrivals in a row, each of which the hop took longer for, that are no outage: it has become slow.
const SLOW: u32 = 3;
/// Divisor of the rate that is left free while the hop drains.
const DRAIN: u64 = 4;
/// Divisor of the weight of a new measurement.
const WEIGHT: u64 = 8;
/// Noise of times by clocks and schedulers, in microseconds.
const BLUR: i64 = 500;
/// Growth of the pace in quarters, after 1, 2, 3, … rounds in which the air was in use and the hop stayed empty.
const GROWTHS: [u64; 4] = [5, 5, 6, 8];

/// One arrival.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    /// Arrival time by the peer's clock, unwrapped.
    at: i64,
    sent_total: u64,
    lost_total: u64,
    /// Time since the departure by our clock; only differences are meaningful.
    delay: i64,
    wait: i64,
    sent_at: Instant,
    /// True if it reached the hop before the one before it had left: the hop was busy between the two.
    follows: bool,
}

/// A rate, and what it shows.
#[derive(Debug, Clone, Copy)]
struct Measurement {
    rate: BitRate,
    /// True if frames waited.
    is_busy: bool,
    /// True if the air or the hop may have been idle meanwhile, so that the rate is a lower bound.
    is_limited: bool,
    /// True if the hop is far slower than the rate so far.
    is_slow: bool,
}

/// Estimate of the hop's rate.
#[derive(Debug)]
pub(crate) struct Estimate {
    rate: BitRate,
    pace: BitRate,
    starting: bool,
    arrivals: Arrivals,
    base: Base,
    wait: i64,
    drain: Drain,
    times: Times,
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

/// Recent arrivals.
#[derive(Debug, Default)]
struct Arrivals {
    recent: VecDeque<Arrived>,
    slow: Option<Slow>,
}

/// Times when the hop and the air were empty.
#[derive(Debug, Default)]
struct Times {
    /// Time since which nearly nothing waits in the hop.
    empty_since: Option<Instant>,
    /// End of the last time in which the air was idle.
    resumed_at: Instant,
}

/// Arrivals in a row on a busy hop, with much time between them.
#[derive(Debug, Clone, Copy)]
struct Slow {
    since: Arrived,
    arrivals: u32,
}

/// A time in which less is sent than the hop carries, so that its queue drains.
#[derive(Debug, Default)]
struct Drain {
    until: Instant,
    /// The longest wait in it, in microseconds.
    deepest: i64,
}

impl Arrivals {
    /// Adds an arrival.
    fn add(&mut self, arrived: Arrived) {
        if self.recent.len() == ARRIVALS_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(arrived);
    }

    /// Notes an arrival that comes so long after the one before it that it would not count for the rate.
    fn note_slowness(&mut self, now: Arrived) {
        let long = SPAN_MAX.as_micros() as i64;
        let before = self.recent.back().copied();
        let before = before.filter(|before| now.follows && now.at - before.at > long);
        let slow = self.slow;
        self.slow = before.map(|before| Slow {
            since: slow.map_or(before, |slow| slow.since),
            arrivals: slow.map_or(1, |slow| slow.arrivals + 1),
        });
    }
}

impl Base {
    /// Records a delay; returns the smallest, and true if a new window has begun. None begins while the hop `drains`.
    fn note(&mut self, now: Instant, delay: i64, drains: bool) -> (i64, bool) {
        let fresh = !drains && now.since(self.since) > BASE_WINDOW;
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
            arrivals: Arrivals::default(),
            base: Base::default(),
            wait: 0,
            drain: Drain::default(),
            times: Times::default(),
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
        self.arrivals.recent.capacity() * size_of::<Arrived>()
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

    /// Records that the air is used again after it was idle.
    pub(crate) fn resumes(&mut self, now: Instant) {
        self.times.resumed_at = now;
    }

    /// Records a change to another path, whose delay is unknown.
    pub(crate) fn begin_path(&mut self) {
        self.base = Base::default();
        self.arrivals.recent.clear();
        (self.wait, self.times.empty_since) = (0, None);
    }

    /// Updates the estimate by an arrival.
    pub(crate) fn learn(&mut self, now: Instant, sample: &Sample) {
        let at = self.unwrap(sample.arrival);
        let delay = at - sample.sent_at.since_origin().as_micros() as i64;
        let drains = now < self.drain.until;
        let (base, fresh) = self.base.note(now, delay, drains);
        // The peer's clock was set back, or half of its range has passed: no span is known, and none ends before that.
        self.arrivals.recent.retain(|before| before.at <= at);
        let wait = delay - base;
        let follows = |before: &Arrived| wait + BLUR >= at - before.at;
        let arrived = Arrived {
            at,
            sent_total: sample.sent_total,
            lost_total: sample.lost_total,
            delay,
            wait,
            sent_at: sample.sent_at,
            follows: self.arrivals.recent.back().is_some_and(follows),
        };
        self.arrivals.note_slowness(arrived);
        let measured = self.measure(&arrived, sample.round_trip);
        self.arrivals.add(arrived);
        if let Some(measured) = measured {
            self.take(measured);
        }
        let target = self.target();
        self.plan_drain(now, fresh);
        self.correct(now, target, sample.round_trip);
    }

    /// Returns the peer's clock, from its low 32 bits of microseconds.
    fn unwrap(&self, arrival: u32) -> i64 {
        let Some(last) = self.arrivals.recent.back() else {
            return i64::from(arrival);
        };
        last.at + i64::from(arrival.wrapping_sub(last.at as u32).cast_signed())
    }

    /// Lets the hop drain before its smallest delay is forgotten: for as long as a rate that is a quarter lower takes
    /// to empty the queue. What is in flight may make it longer meanwhile.
    fn plan_drain(&mut self, now: Instant, fresh: bool) {
        // A frame that met an empty hop shows that it has drained.
        let latest = self.arrivals.recent.back();
        if latest.is_some_and(|latest| !latest.follows) {
            self.drain.until = self.drain.until.min(now);
        }
        let drains = now < self.drain.until;
        if (fresh && self.wait > 1_000) || (drains && self.wait > self.drain.deepest * 2) {
            self.drain = Drain {
                until: now + self.queueing() * DRAIN,
                deepest: self.wait,
            };
        }
    }

    fn target(&self) -> Duration {
        TARGET_MIN.max(self.rate.time_for(Bytes::new(self.frame)).scaled(5, 4))
    }

    /// Returns the rate since the latest arrival that lies far enough back.
    fn measure(&mut self, now: &Arrived, round_trip: Duration) -> Option<Measurement> {
        let frames = self.rate.time_for(Bytes::new(self.frame)) * 6;
        let span_min = SPAN_MIN.max(frames).max((round_trip / 3).min(SPAN_LONG));
        let span_min = span_min.as_micros() as i64;
        while self
            .arrivals
            .recent
            .get(1)
            .is_some_and(|second| now.at - second.at >= span_min)
        {
            self.arrivals.recent.pop_front();
        }
        // Noise only adds to a delay, so the smallest of a few is the best.
        self.wait = self
            .arrivals
            .recent
            .iter()
            .map(|arrived| arrived.wait)
            .min()
            .unwrap_or(0)
            .min(now.wait);
        let mut first = *self.arrivals.recent.front()?;
        let mut span = now.at - first.at;
        if span < span_min {
            return None;
        }
        let is_slow = span > (SPAN_MAX.as_micros() as i64).max(span_min * 2);
        let mut least = 0;
        if is_slow {
            let slow = self.arrivals.slow.take_if(|slow| slow.arrivals >= SLOW)?;
            first = slow.since;
            span = now.at - first.at;
            least = self.frame * u64::from(slow.arrivals);
        }
        // A loss on the air does not lower the rate; the full queue of the hop drops what it cannot carry.
        let is_deep = self.queueing() > self.target() * 2;
        let lost = now.lost_total.saturating_sub(first.lost_total);
        let sent = now.sent_total.saturating_sub(first.sent_total);
        let came = sent.saturating_sub(if is_deep { lost } else { 0 });
        let bytes = Bytes::new(came.max(least));
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
        let mut later = self.arrivals.recent.iter().skip(1).chain([now]);
        Some(Measurement {
            rate: rate.max(LEAST),
            is_busy: busy,
            is_slow,
            is_limited: first.sent_at < self.times.resumed_at
                && !later.all(|arrived| arrived.follows),
        })
    }

    fn take(&mut self, measured: Measurement) {
        self.measured = true;
        let (old, new) = (self.rate.bits_per_second(), measured.rate.bits_per_second());
        let is_full = !measured.is_limited && self.queueing() > self.target() * 2;
        if self.starting && (self.stretched || is_full) {
            self.starting = false;
            self.rate = measured.rate;
        } else if measured.is_slow {
            self.starting = false;
            self.rate = measured.rate.min(self.rate);
        } else if measured.is_busy && !measured.is_limited {
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
        if self.starting {
            let doubled = self.rate.scaled(2, 1);
            let doubtful = self.doubtful.map(|rate| rate.max(BLIND_PACE));
            self.pace = doubtful.map_or(doubled, |rate| rate.min(doubled));
            return;
        }
        let empty = self.queueing() < target / 2;
        self.times.empty_since = empty.then(|| self.times.empty_since.unwrap_or(now));
        let round = round_trip * 2 + CORRECTION_MIN;
        let drains = now < self.drain.until;
        let empty_since = self.times.empty_since.filter(|_| !drains);
        if let Some(since) = empty_since.filter(|since| now.since(*since) > round) {
            self.pace = self.rate.scaled(self.growth(now, since, round), 4);
            return;
        }
        let within = CORRECTION_MIN.max(round_trip * 2).as_micros() as i64;
        let short = target.as_micros() as i64 - self.wait;
        let thousandths = (short * 1000 / within).clamp(-500, 250);
        self.pace = self.rate.scaled((1000 + thousandths) as u64, 1000);
        if now < self.drain.until {
            self.pace = self.pace.min(self.rate.scaled(DRAIN - 1, DRAIN));
        }
    }

    /// Returns the growth of the pace in quarters, on a hop that has been empty since a time.
    fn growth(&self, now: Instant, empty_since: Instant, round: Duration) -> u64 {
        let in_use = now.since(empty_since.max(self.times.resumed_at));
        let rounds = usize::try_from(in_use.as_nanos() / round.as_nanos().max(1));
        GROWTHS[rounds.unwrap_or(usize::MAX).min(GROWTHS.len() - 1)]
    }
}
