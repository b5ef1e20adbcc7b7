//! Actions that are due later.

use std::collections::BTreeSet;

use nfs::FileHandle;
use units::Instant;

use crate::Ticket;

/// An action that is due later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// Makes a request's call again, or ends its wait for room.
    Request(Ticket),
    /// Processes a file's data.
    File(FileHandle),
}

/// Actions by their time. Unlike in [`machine::Deadlines`], one action may be due more than once.
#[derive(Debug, Clone, Default)]
pub(super) struct Alarms(BTreeSet<(Instant, Alarm)>);

impl Alarms {
    pub(super) fn set(&mut self, when: Instant, alarm: Alarm) {
        self.0.insert((when, alarm));
    }

    /// Removes and returns the next action that is due.
    pub(super) fn due(&mut self, now: Instant) -> Option<Alarm> {
        let first = self.0.first().copied().filter(|(when, _)| *when <= now)?;
        self.0.remove(&first);
        Some(first.1)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(when, _)| *when)
    }
}
