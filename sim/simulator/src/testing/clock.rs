//! The time, and what is under way.

use std::collections::BTreeMap;

use units::{Duration, Instant};

/// The time of a test, and the events that are to come: in the order of their times, and at one time in the order in
/// which they were added.
#[derive(Debug, Clone)]
pub struct Clock<E> {
    /// The time that it is.
    pub now: Instant,
    events: BTreeMap<(Instant, u64), E>,
    added: u64,
}

impl<E> Clock<E> {
    /// Returns a clock that begins at `now`, with nothing under way.
    pub fn new(now: Instant) -> Self {
        Self {
            now,
            events: BTreeMap::new(),
            added: 0,
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
    pub fn next(&self) -> Option<Instant> {
        self.events.keys().next().map(|(at, _)| *at)
    }

    /// Removes the first event, if its time has come, and returns it.
    pub fn pop(&mut self) -> Option<E> {
        let first = self.events.first_entry()?;
        (first.key().0 <= self.now).then(|| first.remove())
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.events.clear();
    }

    /// Returns the events, the first one first.
    pub fn events(&self) -> impl Iterator<Item = &E> {
        self.events.values()
    }
}
