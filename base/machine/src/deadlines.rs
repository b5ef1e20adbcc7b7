//! Deadlines of many things, by key.

use std::collections::{BTreeMap, BTreeSet};

use units::Instant;

/// At most one deadline for each key, ordered by time and then by key.
///
/// Every change takes time logarithmic in the number of deadlines.
#[derive(Debug, Clone)]
pub struct Deadlines<K> {
    by_key: BTreeMap<K, Instant>,
    order: BTreeSet<(Instant, K)>,
}

impl<K> Default for Deadlines<K> {
    fn default() -> Self {
        Self {
            by_key: BTreeMap::new(),
            order: BTreeSet::new(),
        }
    }
}

impl<K: Ord + Copy> Deadlines<K> {
    /// Returns the deadline of `key`.
    pub fn get(&self, key: K) -> Option<Instant> {
        self.by_key.get(&key).copied()
    }

    /// Sets the deadline of `key` and replaces an earlier setting; `None` removes it.
    pub fn set(&mut self, key: K, deadline: impl Into<Option<Instant>>) {
        let deadline = deadline.into();
        let before = self.get(key);
        if before == deadline {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, key));
        }
        if let Some(deadline) = deadline {
            self.by_key.insert(key, deadline);
            self.order.insert((deadline, key));
        } else {
            self.by_key.remove(&key);
        }
    }

    /// Sets the deadline of `key`, unless it has an earlier one.
    pub fn set_earlier(&mut self, key: K, deadline: Instant) {
        if self.get(key).is_none_or(|known| deadline < known) {
            self.set(key, deadline);
        }
    }

    /// Removes the deadline of `key`.
    pub fn clear(&mut self, key: K) {
        self.set(key, None);
    }

    /// Returns the first deadline.
    pub fn first(&self) -> Option<Instant> {
        self.order.first().map(|(deadline, _)| *deadline)
    }

    /// Returns the first deadline after `instant`; takes time linear in the number of deadlines up to then.
    pub fn first_after(&self, instant: Instant) -> Option<Instant> {
        let mut later = self
            .order
            .iter()
            .skip_while(|(deadline, _)| *deadline <= instant);
        later.next().map(|(deadline, _)| *deadline)
    }

    /// Returns the keys of all deadlines that have come, the earliest first.
    pub fn due(&self, now: Instant) -> impl Iterator<Item = K> + '_ {
        let due = self
            .order
            .iter()
            .take_while(move |(deadline, _)| *deadline <= now);
        due.map(|(_, key)| *key)
    }

    /// Returns the key of the first deadline, if it is due.
    pub fn first_due(&self, now: Instant) -> Option<K> {
        self.due(now).next()
    }

    /// Removes the first deadline, if it is due, and returns its key.
    pub fn pop_due(&mut self, now: Instant) -> Option<K> {
        let key = self.first_due(now)?;
        self.order.pop_first();
        self.by_key.remove(&key);
        Some(key)
    }
}
