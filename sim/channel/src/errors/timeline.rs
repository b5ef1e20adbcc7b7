//! The sequence of good and bad periods, as a function of the seed alone.

use std::sync::Arc;

use machine::RandomStream;
use units::{Duration, Instant};

use super::period::Law;
use super::recording::{Recording, StateChange};

/// A period of one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// True if the state is the good one.
    pub good: bool,
    /// Beginning of the period.
    pub from: Instant,
    /// Time at which the state changes; `None` for never.
    pub until: Option<Instant>,
}

/// The periods of a two-state process in time, in order, each with a length above zero.
///
/// It begins in the good state unless a recording gives another one. It is an endless iterator of periods, or one whose
/// last period never ends.
#[derive(Debug, Clone)]
pub struct Timeline {
    source: Source,
    current: Period,
    ended: bool,
}

#[derive(Debug, Clone)]
enum Source {
    Drawn(Box<Drawn>),
    Recorded {
        recording: Arc<Recording>,
        /// Part of the recording that lies before time zero.
        start: Duration,
        next: u64,
    },
}

/// Periods with lengths from a random stream.
#[derive(Debug, Clone)]
struct Drawn {
    good: Law,
    bad: Law,
    stream: RandomStream,
    /// Length of the period after the current one; never zero.
    next: Duration,
}

impl Drawn {
    fn law(&self, good: bool) -> Law {
        if good { self.good } else { self.bad }
    }

    /// Returns the length of the next period, which has the state `good`. It skips periods of length zero, which joins
    /// their neighbours into one.
    fn advance(&mut self, good: bool) -> Duration {
        let mut length = self.next;
        loop {
            self.next = self.law(!good).draw(&mut self.stream);
            if !self.next.is_zero() {
                return length;
            }
            length += self.law(good).draw(&mut self.stream);
        }
    }
}

impl Timeline {
    pub(super) fn drawn(good: Law, bad: Law, mut stream: RandomStream) -> Self {
        let mut first = good.draw(&mut stream);
        while first.is_zero() {
            first = good.draw(&mut stream);
        }
        let mut drawn = Drawn {
            good,
            bad,
            stream,
            next: first,
        };
        let length = drawn.advance(true);
        Self {
            source: Source::Drawn(Box::new(drawn)),
            current: Period {
                good: true,
                from: Instant::ZERO,
                until: later(Instant::ZERO, length),
            },
            ended: false,
        }
    }

    /// Returns the timeline of a recording; time zero lies `start` after its beginning.
    pub(super) fn recorded(recording: Arc<Recording>, start: Duration) -> Self {
        let mut good = recording.starts_good();
        let mut next = 0;
        while let Some(change) = recording.change(next)
            && change.at.since_origin() <= start
        {
            good = change.good;
            next += 1;
        }
        let current = Period {
            good,
            from: Instant::ZERO,
            until: recorded_change(&recording, start, next),
        };
        let next = next + 1;
        Self {
            source: Source::Recorded {
                recording,
                start,
                next,
            },
            current,
            ended: false,
        }
    }

    /// Returns the current period.
    pub fn current(&self) -> Period {
        self.current
    }

    /// Advances to the period that holds `now`, which must not lie before the current one.
    pub fn advance_to(&mut self, now: Instant) {
        while self.current.until.is_some_and(|until| until <= now) {
            self.advance();
        }
    }

    fn advance(&mut self) {
        let Some(from) = self.current.until else {
            return;
        };
        let good = !self.current.good;
        let until = match &mut self.source {
            Source::Drawn(drawn) => later(from, drawn.advance(good)),
            Source::Recorded {
                recording,
                start,
                next,
            } => {
                *next += 1;
                recorded_change(recording, *start, *next - 1)
            }
        };
        self.current = Period { good, from, until };
    }

    /// Returns the part of the time from `from` to `until` that is good. Use a fresh timeline, as a timeline does not
    /// run backwards.
    pub fn good_time(self, from: Instant, until: Instant) -> Duration {
        self.take_while(|period| period.from < until)
            .filter(|period| period.good)
            .map(|period| {
                let end = period.until.map_or(until, |end| end.min(until));
                end.since(period.from.max(from))
            })
            .sum()
    }

    /// Returns the changes of state after the current period and up to `until`.
    pub fn changes(self, until: Instant) -> impl Iterator<Item = StateChange> {
        self.skip(1)
            .map(|period| StateChange {
                at: period.from,
                good: period.good,
            })
            .take_while(move |change| change.at <= until)
    }
}

impl Iterator for Timeline {
    type Item = Period;

    /// Returns the current period and advances to the next.
    fn next(&mut self) -> Option<Period> {
        if self.ended {
            return None;
        }
        let period = self.current;
        self.ended = period.until.is_none();
        self.advance();
        Some(period)
    }
}

/// Returns the time of change `number` of a recording, of which `start` lies before time zero.
fn recorded_change(recording: &Recording, start: Duration, number: u64) -> Option<Instant> {
    let change = recording.change(number)?;
    Some(Instant::ZERO + change.at.since_origin().saturating_sub(start))
}

/// Returns `from + length`, or `None` if that exceeds the largest time.
fn later(from: Instant, length: Duration) -> Option<Instant> {
    Some(from + length).filter(|until| until.as_nanos() < u64::MAX)
}
