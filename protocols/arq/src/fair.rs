//! The order of flows: deficit round robin, sparse ones first.
//!
//! It is the order of RFC 8290 §4.1 to §4.2 without its delay rule: a flow that becomes active is served before those
//! with a backlog, once, for a quantum of bytes. Flows that others begin, the *guests*, have an order of their own:
//! each gets as much as any other flow, but all of them together get no more than half while other flows wait.

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
    is_guest: bool,
}

impl Place {
    /// Returns true if the flow has only just become active.
    pub(crate) fn is_sparse(&self) -> bool {
        self.list == List::Sparse
    }
}

/// Active flows in order, by their slots.
#[derive(Debug, Clone, Default)]
struct Lists {
    sparse: VecDeque<usize>,
    bulk: VecDeque<usize>,
}

impl Lists {
    fn len(&self) -> usize {
        self.sparse.len() + self.bulk.len()
    }

    fn first(&self) -> Option<usize> {
        self.sparse.front().or_else(|| self.bulk.front()).copied()
    }
}

/// All active flows in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct FairOrder {
    own: Lists,
    guests: Lists,
    /// Bytes by which guests are ahead of their share, since flows of both kinds wait.
    ahead: i64,
}

impl FairOrder {
    /// Adds a flow that has something to send, if it is not listed yet.
    pub(crate) fn activate(&mut self, slot: usize, place: &mut Place) {
        if place.list == List::None {
            place.list = List::Sparse;
            place.deficit = QUANTUM;
            self.lists(place).sparse.push_back(slot);
        }
    }

    /// Makes a flow a guest, which leaves the order; returns false if it was one.
    pub(crate) fn make_guest(&mut self, slot: usize, place: &mut Place) -> bool {
        if place.is_guest {
            return false;
        }
        self.forget(slot, place);
        *place = Place {
            is_guest: true,
            ..Place::default()
        };
        true
    }

    /// Returns the flow whose turn it is.
    pub(crate) fn current(&mut self, place: impl Fn(usize) -> Place) -> Option<(usize, Place)> {
        let others = !self.own.sparse.is_empty() || self.ahead > 0;
        let own = self.own.first().filter(|_| others);
        let slot = own
            .or_else(|| self.guests.first())
            .or_else(|| self.own.first())?;
        Some((slot, place(slot)))
    }

    /// Charges the current flow for `bytes`; at the end of its quantum the turn passes to the next flow.
    pub(crate) fn charge(&mut self, place: &mut Place, bytes: usize) {
        self.balance(place, bytes as i64);
        place.deficit -= bytes as i64;
        if place.deficit <= 0 {
            place.deficit += QUANTUM;
            self.rotate(place);
        }
    }

    /// Counts bytes of a flow: guests count as flows up to the number of others, which is half in all.
    fn balance(&mut self, place: &Place, bytes: i64) {
        let (own, guests) = (self.own.len() as i64, self.guests.len() as i64);
        if own == 0 || guests == 0 {
            self.ahead = 0;
            return;
        }
        let change = if place.is_guest {
            bytes * own / guests.min(own)
        } else {
            -bytes
        };
        let most = 2 * QUANTUM * own;
        self.ahead = (self.ahead + change).clamp(-most, most);
    }

    /// Ends the turn of the current flow, which has nothing to send.
    pub(crate) fn rest(&mut self, place: &mut Place) {
        // A flow that was sparse passes once through the other list, so that it cannot
        // come back at once and starve those (RFC 8290 §4.2).
        if place.list == List::Sparse && !self.lists(place).bulk.is_empty() {
            self.rotate(place);
        } else {
            self.take_current(place);
            place.list = List::None;
        }
    }

    fn rotate(&mut self, place: &mut Place) {
        if let Some(slot) = self.take_current(place) {
            place.list = List::Bulk;
            self.lists(place).bulk.push_back(slot);
        }
    }

    fn take_current(&mut self, place: &Place) -> Option<usize> {
        match place.list {
            List::Sparse => self.lists(place).sparse.pop_front(),
            List::Bulk => self.lists(place).bulk.pop_front(),
            List::None => None,
        }
    }

    fn lists(&mut self, place: &Place) -> &mut Lists {
        if place.is_guest {
            &mut self.guests
        } else {
            &mut self.own
        }
    }

    /// Removes a flow from the lists.
    pub(crate) fn forget(&mut self, slot: usize, place: &Place) {
        if place.list != List::None {
            let lists = self.lists(place);
            lists.sparse.retain(|listed| *listed != slot);
            lists.bulk.retain(|listed| *listed != slot);
        }
    }

    /// Returns the bytes of memory of the lists.
    pub(crate) fn memory(&self) -> usize {
        let lists = [&self.own, &self.guests];
        let each = lists.map(|lists| lists.sparse.capacity() + lists.bulk.capacity());
        each.iter().sum::<usize>() * size_of::<usize>()
    }

    /// Returns true if no flow is listed.
    pub(crate) fn is_empty(&self) -> bool {
        self.own.len() + self.guests.len() == 0
    }
}
