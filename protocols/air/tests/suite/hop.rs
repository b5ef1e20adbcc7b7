//! A hop with a queue, a rate and a delay: just enough to make arrivals.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use air::{Air, Grant, Pacer};
use arq::Sample;
use machine::RandomStream;
use units::{BitRate, Bytes, Duration, Instant, Probability};

const FRAME: Bytes = Bytes::new(1_514);
/// How often the other end says what has arrived.
const REPORTS: Duration = Duration::from_millis(2);

/// The other end's clock; times are in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Clock {
    Right,
    /// It has been set, by so much.
    Jumped(i64),
    /// Everything arrives at once, it says.
    Stands,
    /// Each time is wrong, by up to so much.
    Scatters(u64),
}

/// One direction of a hop, and the air that learns from it.
pub(crate) struct Hop {
    pub(crate) air: PacedAir,
    pub(crate) now: Instant,
    pub(crate) rate: BitRate,
    pub(crate) loss: Probability,
    /// The size of its frames.
    pub(crate) frame: Bytes,
    /// Parts in a million by which the other end's clock is fast.
    pub(crate) drift: i64,
    /// What the other end says of its clock instead of the time.
    pub(crate) clock: Clock,
    pub(crate) sent: Bytes,
    /// The longest wait in the hop's queue.
    pub(crate) worst: Duration,
    /// Delay of the way there, and of the way back.
    pub(crate) delay: [Duration; 2],
    free_at: Instant,
    chance: RandomStream,
    /// When each report reaches this end, and what it says.
    reports: VecDeque<(Instant, Sample)>,
    last_report: Instant,
    /// A report that waits for others to join it.
    tail: Option<(Instant, Sample)>,
    /// Bytes lost so far.
    pub(crate) lost: Bytes,
    /// Bytes that had been sent with the last one that is known to have arrived.
    heard: Bytes,
}

/// An air of a sender's own, or one on which it has every turn, as soon as the pace allows it.
pub(crate) struct PacedAir {
    pub(crate) air: Air,
    /// What gives the turns, where there are any.
    pacer: Option<Pacer>,
}

impl PacedAir {
    /// An air with this rate, or with one that it estimates.
    pub(crate) fn new(in_turns: bool, rate: Option<BitRate>) -> Self {
        let air = Air::new(rate);
        Self {
            air: if in_turns { air.in_turns() } else { air },
            pacer: in_turns.then(Pacer::default),
        }
    }

    /// When content may leave next.
    pub(crate) fn opens_at(&self) -> Instant {
        let own = || self.air.opens_at().expect("an air of its own opens");
        self.pacer.as_ref().map_or_else(own, Pacer::free_at)
    }

    /// How much may leave now.
    pub(crate) fn grant(&mut self, now: Instant) -> Option<Bytes> {
        if let Some(pacer) = &self.pacer {
            let bytes = pacer.grant(now, self.air.pace())?;
            let grant = Grant {
                bytes,
                rate: None,
                was_idle: pacer.is_idle(now),
            };
            self.air.begin_turn(now, grant);
        }
        let granted = self.air.grant(now);
        self.air.end_turn();
        granted
    }

    pub(crate) fn spent(&mut self, now: Instant, bytes: Bytes) {
        if let Some(pacer) = &mut self.pacer {
            pacer.spent(now, bytes, self.air.pace());
        }
        self.air.spent(now, bytes);
    }
}

impl Deref for PacedAir {
    type Target = Air;

    fn deref(&self) -> &Air {
        &self.air
    }
}

impl DerefMut for PacedAir {
    fn deref_mut(&mut self) -> &mut Air {
        &mut self.air
    }
}

impl Hop {
    /// The spacing of frames of a sender that always has some.
    pub(crate) const BUSY: Duration = Duration::ZERO;

    pub(crate) fn new(in_turns: bool, rate: BitRate, delay: Duration, seed: u64) -> Self {
        Self {
            air: PacedAir::new(in_turns, None),
            now: Instant::from_millis(1),
            rate,
            loss: Probability::NEVER,
            frame: FRAME,
            drift: 0,
            clock: Clock::Right,
            sent: Bytes::ZERO,
            worst: Duration::ZERO,
            delay: [delay; 2],
            free_at: Instant::ZERO,
            chance: RandomStream::named(seed, "hop"),
            reports: VecDeque::new(),
            last_report: Instant::ZERO,
            tail: None,
            lost: Bytes::ZERO,
            heard: Bytes::ZERO,
        }
    }

    /// Sends for `span`, a frame each `spacing` or as the air allows.
    pub(crate) fn run(&mut self, span: Duration, spacing: Duration) {
        let end = self.now + span;
        let mut wanted = self.now;
        while self.now < end {
            let next_send = self.air.opens_at().max(wanted);
            let next_report = self.reports.front().map_or(end, |(at, _)| *at);
            let tail = self.tail.map_or(end, |(at, _)| at);
            let next_report = next_report.min(tail);
            self.now = self.now.max(next_send.min(next_report)).min(end);
            while let Some((_, sample)) = self.reports.pop_front_if(|(at, _)| *at <= self.now) {
                // What was overtaken is no news.
                if sample.sent_total > self.heard.get() {
                    self.heard = Bytes::new(sample.sent_total);
                    self.air.learn(self.now, &sample);
                }
            }
            if let Some((_, sample)) = self.tail.take_if(|(at, _)| *at <= self.now) {
                self.last_report = self.now - self.delay[1];
                self.heard = Bytes::new(sample.sent_total);
                self.air.learn(self.now, &sample);
            }
            self.air
                .set_outstanding(Bytes::new(self.sent.get() - self.heard.get()));
            if self.now < end
                && wanted <= self.now
                && let Some(grant) = self.air.grant(self.now)
            {
                let mut left = grant.get() as i64;
                while left > 0 {
                    self.send();
                    left -= self.frame.get() as i64;
                    if !spacing.is_zero() {
                        break;
                    }
                }
                if !spacing.is_zero() {
                    self.air.idle();
                }
                wanted = self.now + spacing;
            }
        }
    }

    /// Carries nothing for `span`.
    pub(crate) fn stall(&mut self, span: Duration) {
        self.free_at = self.now.max(self.free_at) + span;
    }

    /// Leads what is sent from now on over another hop, which is empty. What is on its way still arrives by this one.
    pub(crate) fn change_path(&mut self) {
        self.reports.extend(self.tail.take());
        self.free_at = self.now;
        self.last_report = self.now;
        self.air.path_changed(self.now);
    }

    fn send(&mut self) {
        self.sent += self.frame;
        self.air
            .set_outstanding(Bytes::new(self.sent.get() - self.heard.get()));
        self.air.spent(self.now, self.frame);
        let begins = self.now.max(self.free_at);
        // The hop's queue holds a quarter of a second, or 20 frames on a slow one.
        let room = Duration::from_millis(250).max(self.rate.time_for(self.frame) * 20);
        if begins.since(self.now) > room {
            self.lost += self.frame;
            return;
        }
        self.worst = self.worst.max(begins.since(self.now));
        self.free_at = begins + self.rate.time_for(self.frame);
        if self.chance.chance(self.loss) {
            self.lost += self.frame;
            return;
        }
        // What reads the clock at the other end is late by up to 0.2 ms.
        let noise = Duration::from_nanos(self.chance.below(200_000));
        let [there, back] = self.delay;
        let arrives = self.free_at + there + noise;
        let micros = arrives.since_origin().as_micros() as i64;
        // The other clock began elsewhere and wraps within the run.
        let theirs = micros + micros * self.drift / 1_000_000 + 4_294_000_000;
        let theirs = match self.clock {
            Clock::Right => theirs,
            Clock::Jumped(by) => theirs + by,
            Clock::Stands => 4_294_000_000,
            Clock::Scatters(by) => theirs + self.chance.below(by) as i64,
        };
        let sample = Sample {
            sent_at: self.now,
            sent_total: self.sent.get(),
            arrival: theirs as u32,
            round_trip: arrives.since(self.now) + back,
            marked: 0,
            lost_total: self.lost.get(),
        };
        // What arrives soon after a report is told by the next.
        if arrives.since(self.last_report) < REPORTS {
            self.tail = Some((self.last_report + REPORTS + back, sample));
        } else {
            self.tail = None;
            self.last_report = arrives;
            let at = arrives + back;
            let place = self.reports.partition_point(|(other, _)| *other <= at);
            self.reports.insert(place, (at, sample));
        }
    }
}
