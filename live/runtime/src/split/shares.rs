//! Who may have how many connections.

use std::collections::BTreeSet;

use redirector::{BindingId, Side};

/// The part of all connections that may be asked for by fixed hosts and not stand yet.
const HALF_OPEN: usize = 4;

/// What each mobile host has of all connections.
#[derive(Debug)]
pub(super) struct Shares {
    most: usize,
    all: usize,
    each: Vec<usize>,
    /// What fixed hosts have asked for and does not stand yet.
    half_open: BTreeSet<BindingId>,
}

impl Shares {
    /// At most `most` connections of so many mobile hosts.
    pub(super) fn new(most: usize, mobiles: usize) -> Self {
        Self {
            most,
            all: 0,
            each: vec![0; mobiles],
            half_open: BTreeSet::new(),
        }
    }

    /// Takes a connection of the mobile host `owner` that is asked for on the side of `asker`, if there is room: a
    /// mobile host leaves free as many as it has, and what floods in from the wired side leaves most of it.
    pub(super) fn take(&mut self, id: BindingId, owner: usize, asker: Side) -> bool {
        let free = self.most - self.all;
        let floods = asker == Side::Fixed && self.half_open.len() >= self.most.div_ceil(HALF_OPEN);
        if free == 0 || self.each[owner] >= free || floods {
            return false;
        }
        self.all += 1;
        self.each[owner] += 1;
        if asker == Side::Fixed {
            self.half_open.insert(id);
        }
        true
    }

    /// A connection stands now.
    pub(super) fn stands(&mut self, id: BindingId) {
        self.half_open.remove(&id);
    }

    /// A connection of `owner` is gone.
    pub(super) fn give_back(&mut self, id: BindingId, owner: usize) {
        self.half_open.remove(&id);
        self.all -= 1;
        self.each[owner] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many a mobile host gets that asks until it is refused, under names from `first` on.
    fn taken(shares: &mut Shares, first: u64, owner: usize, asker: Side) -> u64 {
        let got = (first..).take_while(|id| shares.take(BindingId(*id), owner, asker));
        got.count() as u64
    }

    #[test]
    fn who_takes_all_that_it_gets_leaves_room_to_the_next() {
        let mut shares = Shares::new(96, 3);
        assert_eq!(taken(&mut shares, 0, 0, Side::Mobile), 48);
        assert_eq!(taken(&mut shares, 100, 1, Side::Mobile), 24);
        assert_eq!(taken(&mut shares, 200, 2, Side::Mobile), 12);
        shares.give_back(BindingId(0), 0);
        assert!(!shares.take(BindingId(1_000), 0, Side::Mobile));
        assert!(shares.take(BindingId(1_000), 2, Side::Mobile));
    }

    #[test]
    fn a_flood_of_fixed_hosts_leaves_what_stands_and_what_mobile_hosts_ask_for() {
        let mut shares = Shares::new(96, 1);
        assert_eq!(taken(&mut shares, 0, 0, Side::Fixed), 24);
        assert!(shares.take(BindingId(100), 0, Side::Mobile));
        shares.stands(BindingId(3));
        assert!(shares.take(BindingId(101), 0, Side::Fixed));
        shares.give_back(BindingId(4), 0);
        assert!(shares.take(BindingId(102), 0, Side::Fixed));
        assert!(!shares.take(BindingId(103), 0, Side::Fixed));
    }

    #[test]
    fn one_connection_is_room_for_one() {
        let mut shares = Shares::new(1, 2);
        assert!(shares.take(BindingId(0), 1, Side::Fixed));
        assert!(!shares.take(BindingId(1), 0, Side::Mobile));
        shares.give_back(BindingId(0), 1);
        assert!(shares.take(BindingId(2), 0, Side::Mobile));
    }
}
