//! The calls that ended last, so that replies to them can be told from others.

use std::collections::VecDeque;

use units::Duration;

use crate::Class;

/// How many are remembered.
const REMEMBERED: usize = 256;

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) xid: u32,
    pub(super) class: Class,
    /// It was sent twice and answered after so long, which a second reply shows to be its round trip.
    pub(super) doubtful: Option<Duration>,
    /// It was sent again after so many replies to later calls.
    pub(super) overtaken_by: u32,
}

/// The calls that ended last.
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
