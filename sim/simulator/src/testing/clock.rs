//! The time, and what is under way.

use std::collections::BTreeMap;

use machine::earlier;
use units::{Duration, Instant};

/// Things that happen at one time before the machines are said to spin.
const STILL_MAX: u32 = 100_000;

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<E> {
    /// Something that was under way.
    Event(E),
    /// A deadline of the machines has come.
    Deadline,
    /// The time that was waited for has come; nothing else happened.
    End,
}

/// The time of a test, and the events that are to come: in the order of their times, and at one time in the order in
/// which they were added.
#[derive(Debug, Clone)]
pub struct Clock<E> {
    /// The time that it is.
    pub now: Instant,
    events: BTreeMap<(Instant, u64), E>,
    added: u64,
    /// Deadlines come before the events of the same time.
    deadlines_first: bool,
    /// The deadlines of this time have had their turn.
    is_in_turn: bool,
    /// Number of things that have happened at this time.
    still: u32,
}

impl<E> Clock<E> {
    /// Returns a clock that begins at `now`, with nothing under way. The events of one time come before deadlines.
    pub fn new(now: Instant) -> Self {
        Self {
            now,
            events: BTreeMap::new(),
            added: 0,
            deadlines_first: false,
            is_in_turn: false,
            still: 0,
        }
    }

    /// Lets deadlines come before the events of the same time.
    pub fn deadlines_first(self) -> Self {
        Self {
            deadlines_first: true,
            ..self
        }
    }

    /// Adds an event that happens at `at`.
    pub fn add(&mut self, at: Instant, event: E) {
        self.added += 1;
        self.events.insert((at, self.added), event);
    }

    /// Adds an event that happens so much later.
    pub fn add_after(&mut self, span: Duration, event: E) {
        self.add(self.now + span, event);
    }

    /// Returns the time of the first event.
    pub fn first(&self) -> Option<Instant> {
        self.events.keys().next().map(|(at, _)| *at)
    }

    /// Returns the events, the first one first.
    pub fn events(&self) -> impl Iterator<Item = &E> {
        self.events.values()
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.events.clear();
    }

    /// Goes on to what happens next, an event or the first `deadline` of the machines, or to `end` if nothing does
    /// until then.
    ///
    /// # Panics
    /// If time stands still while more and more happens.
    pub fn advance(&mut self, end: Instant, deadline: Option<Instant>) -> Next<E> {
        let first = self.first();
        self.is_in_turn &= first.is_some_and(|at| at <= self.now);
        let Some(next) = earlier(first, deadline).filter(|next| *next <= end) else {
            self.now = end;
            return Next::End;
        };
        self.still = if next > self.now { 0 } else { self.still + 1 };
        assert!(self.still < STILL_MAX, "time stands still at {}", self.now);
        self.now = next.max(self.now);
        let is_due = deadline.is_some_and(|deadline| deadline <= self.now);
        let yields = self.deadlines_first && is_due && !self.is_in_turn;
        let event = self.events.first_entry();
        let Some(event) = event.filter(|event| event.key().0 <= self.now && !yields) else {
            self.is_in_turn = true;
            return Next::Deadline;
        };
        Next::Event(event.remove())
    }
}
