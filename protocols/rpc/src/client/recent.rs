//! The calls that ended last, which distinguish late replies from unknown ones.

use std::collections::VecDeque;

use units::Duration;

use crate::Class;

/// Number of calls that are kept.
const REMEMBERED: usize = 256;

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) xid: u32,
    pub(super) class: Class,
    /// Set if it was sent twice: the time from the first transmission to the reply. A second reply proves that this
    /// is its round-trip time.
    pub(super) doubtful: Option<Duration>,
    /// Number of replies to later calls after which it was sent again.
    pub(super) overtaken_by: u32,
}

/// Calls that ended last.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent {
    calls: VecDeque<Ended>,
}

impl Recent {
    pub(super) fn insert(&mut self, call: Ended) {
        if self.calls.len() == REMEMBERED {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    pub(super) fn get_mut(&mut self, xid: u32) -> Option<&mut Ended> {
        self.calls.iter_mut().rev().find(|call| call.xid == xid)
    }
}
