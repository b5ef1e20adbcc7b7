//! The transmission of packets one after the other, at a rate or at delivery opportunities.

use std::sync::Arc;

use units::{Bytes, Duration, Instant};

use crate::Direction;
use crate::airtime::Airtime;
use crate::link::Link;
use crate::opportunities::{OPPORTUNITY, Opportunities};
use crate::plan::{Plan, Rate};
use crate::process::Process;

const NANOS: u128 = 1_000_000_000;
const END_OF_TIME: Instant = Instant::from_nanos(u64::MAX);

/// Transmission of packets one after the other.
#[derive(Debug, Clone)]
pub(crate) enum Pacer {
    /// At the rate of a plan.
    Clocked(Clocked),
    /// At the delivery opportunities of a recorded trace, or of a process.
    Traced(Traced),
}

impl Pacer {
    /// Returns a pacer at the rate of a plan, with `access` in addition to each packet's bytes.
    pub(crate) fn new(access: Duration) -> Self {
        Self::Clocked(Clocked {
            access,
            ..Clocked::default()
        })
    }

    /// Returns the pacer of one direction's own medium.
    pub(crate) fn of(link: &Link, direction: Direction, seed: u64) -> Self {
        let source = match (link.trace(direction), link.process(direction)) {
            (Some(trace), _) => Source::Recorded(Arc::clone(trace), 0),
            (None, Some(config)) => Source::Made(Box::new(Process::new(config, seed, direction))),
            (None, None) => return Self::new(link.access()),
        };
        Self::Traced(Traced {
            source,
            at: Instant::ZERO,
            left: 0,
        })
    }

    /// Returns the time at which all transmissions so far end.
    pub(crate) fn free_at(&self) -> Instant {
        match self {
            Self::Clocked(clocked) => clocked.free_at(),
            Self::Traced(traced) => traced.at,
        }
    }

    /// Transmits the next packet, which arrived at `arrived`, as soon as the air is free.
    pub(crate) fn transmit(&mut self, arrived: Instant, size: Bytes, plan: &Plan) -> Airtime {
        match self {
            Self::Clocked(clocked) => clocked.transmit(arrived, size, plan),
            Self::Traced(traced) => traced.transmit(arrived, size),
        }
    }
}

/// Transmission at a rate. It carries the remainder below one nanosecond over, so that back-to-back packets keep the
/// rate exactly.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clocked {
    /// The air is free `carry ÷ rate` nanoseconds after this time.
    free: Instant,
    carry: u64,
    rate: u64,
    /// Time of each packet besides its bytes.
    access: Duration,
}

impl Clocked {
    fn free_at(&self) -> Instant {
        self.free + Duration::from_nanos(u64::from(self.carry > 0))
    }

    fn round_up(&mut self) {
        self.free = self.free_at();
        self.carry = 0;
    }

    fn transmit(&mut self, arrived: Instant, size: Bytes, plan: &Plan) -> Airtime {
        if arrived >= self.free_at() {
            self.free = arrived;
            self.carry = 0;
        }
        let start = self.free_at();
        self.free += self.access;
        let mut work = u128::from(size.get()) * 8 * NANOS;
        while work > 0 && self.free < END_OF_TIME {
            let (step, end) = plan.at(self.free);
            let Rate::Limited(rate) = step.rate else {
                break;
            };
            if self.rate != rate.bits_per_second() {
                // A remainder counts in units of its own rate.
                self.round_up();
                self.rate = rate.bits_per_second();
                continue;
            }
            work = match end {
                Some(end) => self.work_until(end, work),
                None => self.work_on(work),
            };
        }
        if work > 0 {
            self.round_up();
        }
        Airtime {
            start,
            finish: self.free_at(),
        }
    }

    /// Transmits the part of `work` (in 10⁻⁹ bit) that fits before `end`; returns the rest.
    fn work_until(&mut self, end: Instant, work: u128) -> u128 {
        let span = u128::from(end.since(self.free).as_nanos());
        let room = span * u128::from(self.rate) - u128::from(self.carry);
        if work <= room {
            return self.work_on(work);
        }
        self.free = end;
        self.carry = 0;
        work - room
    }

    /// Transmits all of `work` and returns 0.
    fn work_on(&mut self, work: u128) -> u128 {
        let total = work + u128::from(self.carry);
        let rate = u128::from(self.rate);
        let nanos = total.checked_div(rate).unwrap_or(u128::MAX);
        self.free += Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.carry = (total.checked_rem(rate).unwrap_or(0)) as u64;
        0
    }
}

/// Source of opportunities.
#[derive(Debug, Clone)]
enum Source {
    /// A trace, and the number of the next opportunity.
    Recorded(Arc<Opportunities>, u64),
    Made(Box<Process>),
}

impl Source {
    /// Skips the opportunities before `now`.
    fn skip_to(&mut self, now: Instant) {
        match self {
            Self::Recorded(trace, next) => *next = (*next).max(trace.first_from(now)),
            Self::Made(process) => process.skip_to(now),
        }
    }

    /// Uses the next opportunity; returns its time.
    fn take(&mut self) -> Instant {
        match self {
            Self::Recorded(trace, next) => {
                let at = trace.time(*next);
                *next += 1;
                at
            }
            Self::Made(process) => {
                let at = process.upcoming();
                process.advance();
                at
            }
        }
    }
}

/// Transmission by a trace: each opportunity carries [`OPPORTUNITY`] bytes of the packets that wait for it, whole or in
/// part; an unused rest is lost.
#[derive(Debug, Clone)]
pub(crate) struct Traced {
    source: Source,
    /// Time of the last opportunity that a packet used.
    at: Instant,
    /// Bytes that it can still carry.
    left: u64,
}

impl Traced {
    fn transmit(&mut self, arrived: Instant, size: Bytes) -> Airtime {
        if arrived > self.at {
            self.left = 0;
            self.at = arrived;
            self.source.skip_to(arrived);
        }
        let mut work = size.get();
        let mut start = None;
        while work > 0 {
            if self.left == 0 {
                self.at = self.source.take();
                self.left = OPPORTUNITY.get();
            }
            start.get_or_insert(self.at);
            let used = self.left.min(work);
            self.left -= used;
            work -= used;
        }
        Airtime {
            start: start.unwrap_or(self.at),
            finish: self.at,
        }
    }
}
