//! Times in which the channel loses packets.

use std::iter::Peekable;

use units::Instant;

use crate::errors::{Period, Timeline};
use crate::link::Link;
use crate::{Direction, PerDirection};

/// A period in which at least one direction is in its bad state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Beginning of the outage.
    pub from: Instant,
    /// End of the outage; `None` for never.
    pub until: Option<Instant>,
}

impl Link {
    /// Returns the outages of a run with `seed`, in order; none if no error model of this link has states in time. The
    /// model `replay` reads them from a recording, `temporal` draws them.
    pub fn outages(&self, seed: u64) -> impl Iterator<Item = Outage> + Send + use<> {
        let mut bad = PerDirection::from_fn(|direction| {
            let timeline = self.timeline(direction, seed);
            BadPeriods(timeline).peekable()
        });
        std::iter::from_fn(move || next_outage(&mut bad))
    }
}

/// The bad periods of one direction.
struct BadPeriods(Option<Timeline>);

impl Iterator for BadPeriods {
    type Item = Period;

    fn next(&mut self) -> Option<Period> {
        self.0.as_mut()?.find(|period| !period.good)
    }
}

/// Returns the next outage; bad periods that touch each other form one.
fn next_outage(bad: &mut PerDirection<Peekable<BadPeriods>>) -> Option<Outage> {
    let mut outage: Option<Outage> = None;
    loop {
        let starts = Direction::BOTH.map(|direction| {
            let start = bad[direction].peek().map(|period| period.from);
            start.map(|start| (start, direction))
        });
        let first = starts.into_iter().flatten().min();
        let joins = |start| outage.is_none_or(|outage| outage.until.is_none_or(|end| start <= end));
        let Some((_, direction)) = first.filter(|(start, _)| joins(*start)) else {
            return outage;
        };
        let period = bad[direction].next()?;
        let so_far = outage.unwrap_or(Outage {
            from: period.from,
            until: Some(period.from),
        });
        let until = so_far.until.zip(period.until);
        outage = Some(Outage {
            from: so_far.from,
            until: until.map(|(one, other)| one.max(other)),
        });
        // Nothing can follow an outage that never ends.
        if until.is_none() {
            *bad = PerDirection::from_fn(|_| BadPeriods(None).peekable());
            return outage;
        }
    }
}
