//! The deadlines of connections, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Instant;

use crate::packet::Cid;

/// Deadline of a connection, with the number of changes of its deadline so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) own: Cid,
    pub(crate) change: u64,
}

/// Deadlines of connections, the earliest first. A deadline that was moved stays in the heap until it reaches the
/// front, so a move needs no memory; the caller decides which deadlines still hold.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    heap: BinaryHeap<Reverse<Deadline>>,
}

impl Deadlines {
    /// Adds a deadline.
    pub(crate) fn add(&mut self, deadline: Deadline) {
        self.heap.push(Reverse(deadline));
    }

    /// Returns the earliest deadline, which holds after [`clean`](Self::clean).
    pub(crate) fn first(&self) -> Option<Deadline> {
        self.heap.peek().map(|Reverse(first)| *first)
    }

    /// Removes deadlines that do not hold: those in front, and all of them once they are many more than
    /// `connections`.
    pub(crate) fn clean(&mut self, connections: usize, holds: impl Fn(&Deadline) -> bool) {
        if self.heap.len() > 2 * connections + 64 {
            self.heap.retain(|Reverse(deadline)| holds(deadline));
        }
        while self.first().is_some_and(|first| !holds(&first)) {
            self.heap.pop();
        }
    }
}
