//! When which connection is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Instant;

use crate::packet::Cid;

/// A deadline of a connection, and how often that one has changed its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) own: Cid,
    pub(crate) change: u64,
}

/// Deadlines of connections, the earliest first. One that was moved stays behind until it comes up, so moving one takes
/// no memory; who asks says which ones still hold.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    heap: BinaryHeap<Reverse<Deadline>>,
}

impl Deadlines {
    /// Adds a deadline.
    pub(crate) fn add(&mut self, deadline: Deadline) {
        self.heap.push(Reverse(deadline));
    }

    /// The earliest one, which holds after [`clean`](Self::clean).
    pub(crate) fn first(&self) -> Option<Deadline> {
        self.heap.peek().map(|Reverse(first)| *first)
    }

    /// Forgets those that do not hold: those in front, and all of them once they are many more than `connections`.
    pub(crate) fn clean(&mut self, connections: usize, holds: impl Fn(&Deadline) -> bool) {
        if self.heap.len() > 2 * connections + 64 {
            self.heap.retain(|Reverse(deadline)| holds(deadline));
        }
        while self.first().is_some_and(|first| !holds(&first)) {
            self.heap.pop();
        }
    }
}
