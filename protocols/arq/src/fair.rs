//! The order of flows: deficit round robin, sparse ones first.
//!
//! It is the order of RFC 8290 §4.1 to §4.2 without its delay rule: a flow that becomes active is served before those
//! with a backlog, once, for a quantum of bytes.

use std::collections::VecDeque;

/// Bytes that a flow may send in one turn: two full frames.
const QUANTUM: i64 = 3_028;

/// List that a flow is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum List {
    #[default]
    None,
    Sparse,
    Bulk,
}

/// A flow's place in the order; each flow owns one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    list: List,
    deficit: i64,
}

impl Place {
    /// Returns true if the flow has only just become active.
    pub(crate) fn is_sparse(&self) -> bool {
        self.list == List::Sparse
    }
}

/// The active flows in order, by their slots.
#[derive(Debug, Clone, Default)]
pub(crate) struct FairOrder {
    sparse: VecDeque<usize>,
    bulk: VecDeque<usize>,
}

impl FairOrder {
    /// Adds a flow that has something to send, if it is not listed yet.
    pub(crate) fn activate(&mut self, slot: usize, place: &mut Place) {
        if place.list == List::None {
            *place = Place {
                list: List::Sparse,
                deficit: QUANTUM,
            };
            self.sparse.push_back(slot);
        }
    }

    /// Returns the flow whose turn it is.
    pub(crate) fn current(&mut self, place: impl Fn(usize) -> Place) -> Option<(usize, Place)> {
        let slot = *self.sparse.front().or_else(|| self.bulk.front())?;
        Some((slot, place(slot)))
    }

    /// Charges the current flow for `bytes`; at the end of its quantum the turn passes to the next flow.
    pub(crate) fn charge(&mut self, place: &mut Place, bytes: usize) {
        place.deficit -= bytes as i64;
        if place.deficit <= 0 {
            place.deficit += QUANTUM;
            self.rotate(place);
        }
    }

    /// Ends the turn of the current flow, which has nothing to send.
    pub(crate) fn rest(&mut self, place: &mut Place) {
        // A flow that was sparse passes once through the other list, so that it cannot
        // come back at once and starve those (RFC 8290 §4.2).
        if place.list == List::Sparse && !self.bulk.is_empty() {
            self.rotate(place);
        } else {
            self.take_current(place);
            place.list = List::None;
        }
    }

    fn rotate(&mut self, place: &mut Place) {
        if let Some(slot) = self.take_current(place) {
            place.list = List::Bulk;
            self.bulk.push_back(slot);
        }
    }

    fn take_current(&mut self, place: &Place) -> Option<usize> {
        match place.list {
            List::Sparse => self.sparse.pop_front(),
            List::Bulk => self.bulk.pop_front(),
            List::None => None,
        }
    }

    /// Removes a flow from the lists.
    pub(crate) fn forget(&mut self, slot: usize, place: &Place) {
        if place.list != List::None {
            self.sparse.retain(|listed| *listed != slot);
            self.bulk.retain(|listed| *listed != slot);
        }
    }

    /// Returns the bytes of memory of the lists.
    pub(crate) fn memory(&self) -> usize {
        (self.sparse.capacity() + self.bulk.capacity()) * size_of::<usize>()
    }

    /// Returns true if no flow is listed.
    pub(crate) fn is_empty(&self) -> bool {
        self.sparse.is_empty() && self.bulk.is_empty()
    }
}
