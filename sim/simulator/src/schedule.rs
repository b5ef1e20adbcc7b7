//! The event queue: one deadline for each actor.
//!
//! A heap of events would collect the deadlines that TCP moves with every acknowledgement. Actors are few and known, so
//! this is a tournament tree: the leaves are the actors' deadlines, each inner node holds the earlier of its two
//! children, and the root is the next event. To move a deadline, the matches above it are replayed, up to the first
//! whose winner stays another actor; an unchanged deadline costs one comparison.

use units::Instant;

/// A deadline at this time never comes.
const END_OF_TIME: Instant = Instant::from_nanos(u64::MAX);

/// Index of an actor in the schedule.
pub(crate) type Slot = u32;

/// A deadline: the earlier time wins, then the one that was set earlier.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Instant,
    set: u64,
    slot: Slot,
}

impl Entry {
    /// Returns the entry without a deadline, which loses against every deadline.
    const fn never(slot: Slot) -> Self {
        Self {
            at: END_OF_TIME,
            set: u64::MAX,
            slot,
        }
    }

    fn is_never(self) -> bool {
        self.set == u64::MAX
    }

    /// Returns the key of the order; the smallest wins.
    fn order(&self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.set)
    }

    /// Returns true if both are the same setting.
    fn is(&self, other: &Self) -> bool {
        (self.set, self.slot) == (other.set, other.slot)
    }
}

/// The deadlines of all actors.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    /// A binary tree: the children of index i are 2i and 2i + 1, the leaves are the second half.
    tree: Vec<Entry>,
    actors: u32,
    /// Number of the next setting.
    set: u64,
}

impl Schedule {
    pub(crate) fn new() -> Self {
        Self {
            tree: vec![Entry::never(0); 2],
            actors: 0,
            set: 0,
        }
    }

    /// Adds an actor without a deadline.
    pub(crate) fn add(&mut self) -> Slot {
        let slot = self.actors;
        self.actors += 1;
        let leaves = self.tree.len() / 2;
        if slot as usize == leaves {
            self.grow();
        }
        slot
    }

    /// Doubles the number of leaves and replays every match.
    fn grow(&mut self) {
        let leaves = self.tree.len();
        let old = self.tree.split_off(leaves / 2);
        self.tree = (0..2 * leaves as u32)
            .map(|place| Entry::never(place.saturating_sub(leaves as u32)))
            .collect();
        self.tree[leaves..leaves + old.len()].copy_from_slice(&old);
        for place in (1..leaves).rev() {
            self.tree[place] = self.tree[self.winner(2 * place)];
        }
    }

    /// Sets the deadline of `slot` to `at`; an unchanged deadline keeps its position in the order.
    pub(crate) fn set(&mut self, slot: Slot, at: Option<Instant>) {
        let mut place = self.tree.len() / 2 + slot as usize;
        let old = self.tree[place];
        let entry = match at.filter(|at| *at < END_OF_TIME) {
            Some(at) if at == old.at => return,
            Some(at) => {
                self.set += 1;
                let set = self.set;
                Entry { at, set, slot }
            }
            None if old.is_never() => return,
            None => Entry::never(slot),
        };
        self.tree[place] = entry;
        while place > 1 {
            let winner = self.tree[self.winner(place)];
            place /= 2;
            if self.tree[place].is(&winner) {
                return;
            }
            self.tree[place] = winner;
        }
    }

    /// Returns the winner of the match at `place`. It uses no branch, as a processor could not predict it.
    fn winner(&self, place: usize) -> usize {
        let loses = self.tree[place ^ 1].order() < self.tree[place].order();
        place ^ usize::from(loses)
    }

    /// Returns the actor that is due first, and its deadline.
    pub(crate) fn first(&self) -> Option<(Instant, Slot)> {
        let first = self.tree[1];
        (!first.is_never()).then_some((first.at, first.slot))
    }

    /// Removes the deadline of the actor that is due first, which has been called. If it sets the same time again, it
    /// comes after the others of that time.
    pub(crate) fn spend(&mut self, slot: Slot) {
        let place = self.tree.len() / 2 + slot as usize;
        self.tree[place].at = END_OF_TIME;
    }
}

#[cfg(test)]
mod tests;
