//! What is to be done later.

use std::collections::BTreeSet;

use nfs::FileHandle;
use units::Instant;

use crate::Ticket;

/// What is to be done later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A request's call is made again; one that only waits for room has waited long enough.
    Request(Ticket),
    /// A file's data are looked after.
    File(FileHandle),
}

/// What is to be done when. Unlike in [`machine::Deadlines`], one thing may be due more than once.
#[derive(Debug, Clone, Default)]
pub(super) struct Alarms(BTreeSet<(Instant, Alarm)>);

impl Alarms {
    pub(super) fn set(&mut self, when: Instant, alarm: Alarm) {
        self.0.insert((when, alarm));
    }

    /// The next whose time has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<Alarm> {
        let first = self.0.first().copied().filter(|(when, _)| *when <= now)?;
        self.0.remove(&first);
        Some(first.1)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(when, _)| *when)
    }
}
