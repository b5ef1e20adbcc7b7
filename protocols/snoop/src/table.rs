//! The connections that an agent tracks, by name and by deadline.

use std::collections::BTreeMap;

use machine::Deadlines;
use units::{Duration, Instant};

use crate::FlowName;

/// Idle time after which a connection may be replaced by a new one if the table is full.
const QUIET: Duration = Duration::from_secs(5);

/// A bounded set of connections.
///
/// Each has one deadline in the set, never later than its true one; a deadline that turns out to be early is
/// postponed. So a timer that moves with every packet costs nothing per packet.
#[derive(Debug)]
pub(crate) struct Table<F> {
    entries: BTreeMap<FlowName, Entry<F>>,
    deadlines: Deadlines<FlowName>,
    most: usize,
    idle: Duration,
}

#[derive(Debug)]
struct Entry<F> {
    flow: F,
    active: Instant,
}

impl<F> Table<F> {
    /// Returns a table of at most `most` connections, which are removed when idle for `idle`.
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Self {
            entries: BTreeMap::new(),
            deadlines: Deadlines::default(),
            most,
            idle,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn contains(&self, name: &FlowName) -> bool {
        self.entries.contains_key(name)
    }

    pub(crate) fn get_mut(&mut self, name: &FlowName) -> Option<&mut F> {
        self.entries.get_mut(name).map(|entry| &mut entry.flow)
    }

    /// Returns the names of all connections, in their order.
    pub(crate) fn names(&self) -> Vec<FlowName> {
        self.entries.keys().copied().collect()
    }

    /// Notes a packet of the connection.
    pub(crate) fn touch(&mut self, now: Instant, name: &FlowName) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.active = now;
        }
    }

    /// Inserts a connection. It replaces one of that name or, if the table is full, the one that was idle for
    /// longest. Returns the replaced connection, or the new one as an error if there is no room.
    pub(crate) fn insert(&mut self, now: Instant, name: FlowName, flow: F) -> Result<Option<F>, F> {
        let mut gone = self.remove(&name);
        if self.entries.len() >= self.most {
            let quietest = self.entries.iter().min_by_key(|(_, entry)| entry.active);
            let quietest = quietest.filter(|(_, entry)| entry.active + QUIET <= now);
            let Some((&victim, _)) = quietest else {
                return Err(flow);
            };
            gone = self.remove(&victim);
        }
        self.deadlines.set(name, now + self.idle);
        let entry = Entry { flow, active: now };
        self.entries.insert(name, entry);
        Ok(gone)
    }

    pub(crate) fn remove(&mut self, name: &FlowName) -> Option<F> {
        let entry = self.entries.remove(name)?;
        self.deadlines.clear(*name);
        Some(entry.flow)
    }

    /// Sets the deadline of the connection.
    pub(crate) fn set_deadline(&mut self, name: &FlowName, due: Option<Instant>) {
        if let Some(due) = due.filter(|_| self.entries.contains_key(name)) {
            self.deadlines.set_earlier(*name, due);
        }
    }

    /// Returns the next deadline.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first()
    }

    /// Takes one connection whose deadline has come, if any: the caller handles it and calls [`Table::set_deadline`].
    /// Connections that were idle for too long are removed.
    pub(crate) fn expire(&mut self, now: Instant, gone: &mut impl FnMut(F)) -> Option<FlowName> {
        while let Some(name) = self.deadlines.pop_due(now) {
            let Some(entry) = self.entries.get(&name) else {
                continue;
            };
            let limit = entry.active + self.idle;
            if limit > now {
                self.deadlines.set(name, limit);
                return Some(name);
            }
            if let Some(flow) = self.remove(&name) {
                gone(flow);
            }
        }
        None
    }
}
