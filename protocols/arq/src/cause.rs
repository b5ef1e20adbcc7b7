//! The cause of a lost transmission: the air, or a queue that was full.
//!
//! A queue that overflows is as long as it ever is, so a packet lost there had much ahead of it: bytes that were sent
//! before it and not delivered when it came to the queue, or a wait as long as any recent one. A loss on the air
//! happens at any length of the queue. So a loss at a long queue is congestion, unless the hop loses as large a share
//! at short queues. No clocks are compared: only differences between delays count.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Instant;

/// Time in microseconds for which the smallest delay and the longest queue are remembered, at most twice that.
const WINDOW: i64 = 10_000_000;
/// Most arrivals remembered: those of more than a round trip, as acknowledgements come at least 1 ms apart.
const CURVE_MAX: usize = 1_024;
/// Percentage of the longest queue from which a queue is long.
const LONG: i64 = 88;
/// Least wait in microseconds that counts as one.
const LEAST_WAIT: i64 = 1_000;
/// Number of arrivals before which no cause is given.
const ENOUGH: u64 = 64;
/// Factor by which long queues must lose more than short ones.
const EXCESS: u64 = 3;
/// Prior for the loss at short queues: a quarter of a frame in this many.
const PRIOR: u64 = 250;
/// Number of frames over which losses are counted.
const MEMORY: u64 = 8_192;
/// Most losses that wait for their cause.
const PENDING_MAX: usize = 4_096;

/// Cause of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LossCause {
    /// A queue on the way was full.
    Congestion,
    /// The air.
    Air,
    /// The air, in a fade.
    Fade,
    /// Unknown: too little has arrived to decide.
    Unknown,
}

/// Counters of losses by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossCounts {
    /// At a queue on the way that was full.
    pub congestion: u64,
    /// On the air, fades aside.
    pub air: u64,
    /// In fades.
    pub fade: u64,
    /// For causes that were not known yet.
    pub unknown: u64,
}

impl LossCounts {
    /// Returns the losses since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            congestion: self.congestion.saturating_sub(before.congestion),
            air: self.air.saturating_sub(before.air),
            fade: self.fade.saturating_sub(before.fade),
            unknown: self.unknown.saturating_sub(before.unknown),
        }
    }

    /// Adds one loss.
    pub fn add(&mut self, cause: LossCause) {
        match cause {
            LossCause::Congestion => self.congestion += 1,
            LossCause::Air => self.air += 1,
            LossCause::Fade => self.fade += 1,
            LossCause::Unknown => self.unknown += 1,
        }
    }
}

/// Departure of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Time when it left.
    pub sent_at: Instant,
    /// Total bytes sent then, its own included.
    pub sent_total: u64,
}

/// A point of the curve of bytes delivered over time, in microseconds of the other end's clock.
#[derive(Debug, Clone, Copy)]
struct Point {
    at: i64,
    total: u64,
    wait: i64,
}

/// The largest recent value.
#[derive(Debug, Clone, Copy, Default)]
struct Largest {
    current: Option<i64>,
    before: Option<i64>,
    since: i64,
}

impl Largest {
    fn note(&mut self, now: i64, value: i64) -> i64 {
        if now.saturating_sub(self.since) > WINDOW {
            self.before = self.current.take();
            self.since = now;
        }
        self.current = self.current.max(Some(value));
        self.current.max(self.before).unwrap_or(value)
    }

    fn get(self) -> i64 {
        self.current.max(self.before).unwrap_or_default()
    }
}

/// Counters of frames that came to a queue of some length.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    frames: u64,
    lost: u64,
}

impl Tally {
    fn note(&mut self, frames: u64, lost: u64) {
        self.frames = (self.frames + frames + lost).min(2 * MEMORY);
        self.lost += lost;
        if self.frames >= 2 * MEMORY {
            (self.frames, self.lost) = (self.frames / 2, self.lost / 2);
        }
    }
}

/// Classifier of losses by cause, for one direction of a hop.
#[derive(Debug, Default)]
pub struct LossClassifier {
    curve: VecDeque<Point>,
    /// The smallest delay, with its sign changed.
    base: Largest,
    /// The most recent bytes ahead, and the longest recent wait.
    ahead: Largest,
    wait: Largest,
    long: Tally,
    short: Tally,
    /// Losses to classify with the next arrival, and whether they fell into a silence.
    pending: Vec<(Departure, bool)>,
}

impl LossClassifier {
    /// Records that the latest of `frames` transmissions arrived, at this time of the other end's clock in
    /// microseconds modulo 2³².
    pub fn note_arrival(&mut self, departure: Departure, arrival: u32, frames: u64) {
        let at = match self.curve.back() {
            None => i64::from(arrival),
            Some(last) => last.at.saturating_add(i64::from(
                arrival.wrapping_sub(last.at as u32).cast_signed(),
            )),
        };
        let sent = micros(departure.sent_at);
        let delay = at.saturating_sub(sent);
        let base = self
            .base
            .note(sent, delay.saturating_neg())
            .saturating_neg();
        let wait = delay.saturating_sub(base);
        let total = departure.sent_total;
        let in_order = |last: &Point| last.at <= at && last.total <= total;
        if self.curve.back().is_none_or(in_order) {
            if self.curve.len() == CURVE_MAX {
                self.curve.pop_front();
            }
            self.curve.push_back(Point { at, total, wait });
        }
        let ahead = self.ahead_of(departure);
        let is_long = self.is_long(ahead, wait);
        self.ahead.note(sent, ahead);
        self.wait.note(sent, wait);
        let tally = if is_long {
            &mut self.long
        } else {
            &mut self.short
        };
        tally.note(frames, 0);
    }

    /// Records the loss of a transmission that left before the latest that arrived; returns its cause.
    pub fn note_loss(&mut self, departure: Departure) -> LossCause {
        if self.long.frames + self.short.frames < ENOUGH {
            return LossCause::Unknown;
        }
        let ahead = self.ahead_of(departure);
        if !self.is_long(ahead, self.wait_at(departure.sent_total)) {
            self.short.note(0, 1);
            return LossCause::Air;
        }
        self.long.note(0, 1);
        if self.is_crowded() {
            LossCause::Congestion
        } else {
            LossCause::Air
        }
    }

    /// Returns true if long queues lose so much more than short ones that overflow is the cause.
    fn is_crowded(&self) -> bool {
        // In quarters of a frame, since short queues are taken to have lost one of those.
        let (long, short) = (self.long, self.short);
        let in_long = (4 * long.lost).saturating_mul(short.frames + PRIOR);
        let in_short = (4 * short.lost + 1).saturating_mul(long.frames);
        in_long >= in_short.saturating_mul(EXCESS)
    }

    /// Returns the cause of a loss in a silence, when nothing arrived that had left as late.
    fn cause_in_silence(&self, departure: Departure) -> LossCause {
        let is_long = self.is_long(self.ahead_of(departure), self.wait_at(departure.sent_total));
        if is_long && self.is_crowded() {
            LossCause::Congestion
        } else {
            LossCause::Fade
        }
    }

    /// Records a loss, in a silence or not; its cause is decided when the next arrival has been recorded.
    pub(crate) fn put_off(&mut self, departure: Departure, in_silence: bool) {
        if self.pending.len() < PENDING_MAX {
            self.pending.push((departure, in_silence));
        }
    }

    /// Decides the causes of the losses that were put off, and counts them.
    pub(crate) fn tell(&mut self, counts: &mut LossCounts) {
        let mut pending = std::mem::take(&mut self.pending);
        for (departure, in_silence) in pending.drain(..) {
            counts.add(if in_silence {
                self.cause_in_silence(departure)
            } else {
                self.note_loss(departure)
            });
        }
        self.pending = pending;
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        self.curve.capacity() * size_of::<Point>()
            + self.pending.capacity() * size_of::<(Departure, bool)>()
    }

    /// Returns true if a queue is about as long as any recent one.
    fn is_long(&self, ahead: i64, wait: i64) -> bool {
        let is_near = |value: i64, most: i64| {
            value.saturating_mul(100) >= most.saturating_mul(LONG) && value > 0
        };
        wait >= LEAST_WAIT && (is_near(ahead, self.ahead.get()) || is_near(wait, self.wait.get()))
    }

    /// Returns the bytes sent before a transmission that were not delivered when it came to the queue, its own
    /// included.
    fn ahead_of(&self, departure: Departure) -> i64 {
        let base = self.base.get().saturating_neg();
        let delivered = self.delivered(micros(departure.sent_at).saturating_add(base));
        i64::try_from(departure.sent_total.saturating_sub(delivered)).unwrap_or(i64::MAX)
    }

    /// Returns the longer wait of the two arrivals next to a transmission.
    fn wait_at(&self, total: u64) -> i64 {
        let place = self.curve.partition_point(|point| point.total <= total);
        let around = [place.checked_sub(1), Some(place)];
        let waits = around
            .iter()
            .flatten()
            .filter_map(|place| self.curve.get(*place));
        waits.map(|point| point.wait).max().unwrap_or_default()
    }

    /// Returns the bytes that were delivered at time `at`.
    fn delivered(&self, at: i64) -> u64 {
        let place = self.curve.partition_point(|point| point.at <= at);
        let before = place.checked_sub(1).and_then(|place| self.curve.get(place));
        match (before, self.curve.get(place)) {
            (Some(before), Some(after)) => {
                let span = (after.at - before.at).max(1).unsigned_abs();
                let bytes = u128::from(after.total.saturating_sub(before.total));
                let part = bytes * u128::from((at - before.at).unsigned_abs()) / u128::from(span);
                before.total + u64::try_from(part).unwrap_or(u64::MAX)
            }
            (Some(only), None) | (None, Some(only)) => only.total,
            (None, None) => 0,
        }
    }
}

fn micros(at: Instant) -> i64 {
    i64::try_from(at.since_origin().as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: u64 = 1_500;
    /// Time that a frame takes on the hop, and propagation delay, in microseconds.
    const TIME: u64 = 1_000;
    const WAY: u64 = 20_000;

    /// Sends frames `gap` microseconds apart over a hop that takes one each millisecond, with a queue of `queue`
    /// frames; `is_lost` selects losses on the air. Returns the causes found.
    fn told(queue: u64, gap: impl Fn(u64) -> u64, is_lost: impl Fn(u64) -> bool) -> LossCounts {
        let (mut causes, mut counts) = (LossClassifier::default(), LossCounts::default());
        let (mut now, mut free) = (1_000_000, 0_u64);
        for number in 1..20_000 {
            now += gap(number);
            let departure = Departure {
                sent_at: Instant::from_nanos(now * 1_000),
                sent_total: number * FRAME,
            };
            if free.saturating_sub(now) > queue * TIME {
                causes.put_off(departure, false);
                continue;
            }
            free = free.max(now) + TIME;
            if is_lost(number) {
                causes.put_off(departure, false);
                continue;
            }
            causes.note_arrival(departure, (free + WAY) as u32, 1);
            causes.tell(&mut counts);
        }
        counts
    }

    /// Faster than the hop for half of the time, slower for the other half.
    fn swinging(number: u64) -> u64 {
        if number % 1_000 < 500 { 900 } else { 1_200 }
    }

    #[test]
    fn a_queue_that_overflows_is_congestion() {
        let counts = told(30, swinging, |_| false);
        assert!(counts.congestion > 300, "{counts:?}");
        assert_eq!(counts.air + counts.unknown, 0, "{counts:?}");
    }

    #[test]
    fn what_is_lost_at_any_length_of_the_queue_is_the_airs() {
        // One in 97, whatever waits.
        let counts = told(1_000, swinging, |number| number % 97 == 0);
        assert!(counts.air > 180, "{counts:?}");
        assert!(counts.congestion * 20 < counts.air, "{counts:?}");
    }

    #[test]
    fn both_are_told_apart() {
        let counts = told(30, swinging, |number| number % 97 == 0);
        let only_queue = told(30, swinging, |_| false).congestion;
        assert!(
            counts.congestion.abs_diff(only_queue) * 5 < only_queue,
            "{counts:?} {only_queue}"
        );
        assert!(counts.air > 120, "{counts:?}");
    }

    #[test]
    fn clocks_that_lie_break_nothing() {
        let mut causes = LossClassifier::default();
        for number in 0..10_000_u64 {
            let departure = Departure {
                sent_at: Instant::from_nanos(number * 1_000_000),
                sent_total: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            };
            let arrival = (number as u32).wrapping_mul(0x9e37_79b9);
            causes.note_arrival(departure, arrival, u64::MAX / 4);
            causes.note_loss(departure);
            causes.put_off(departure, false);
        }
        assert!(causes.memory() < 256 << 10);
    }
}
