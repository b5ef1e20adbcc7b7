//! Who may have how many connections.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use redirector::BindingId;

/// The part of all connections that may be asked for by fixed hosts and not stand yet; and by each mobile host.
const HALF_OPEN: usize = 4;
/// The part of those that may be asked for by one fixed host.
const BY_ONE: usize = 4;

/// What each mobile host has of all connections.
#[derive(Debug)]
pub(super) struct Shares {
    most: usize,
    all: usize,
    each: Vec<Share>,
    /// What fixed hosts have asked for and does not stand yet, and who of them asked.
    half_open: BTreeMap<BindingId, IpAddr>,
    by_host: BTreeMap<IpAddr, usize>,
}

/// What a mobile host has.
#[derive(Debug, Clone, Default)]
struct Share {
    connections: usize,
    /// What it has asked for itself and does not stand yet, the oldest first.
    half_open: BTreeSet<BindingId>,
}

impl Shares {
    /// At most `most` connections of so many mobile hosts.
    pub(super) fn new(most: usize, mobiles: usize) -> Self {
        Self {
            most,
            all: 0,
            each: vec![Share::default(); mobiles],
            half_open: BTreeMap::new(),
            by_host: BTreeMap::new(),
        }
    }

    /// Takes a connection of the mobile host `owner` that it asks for itself, or that fixed host, if there is room: a
    /// mobile host leaves free as many as it has, and what floods in from the wired side leaves most of it, and of that
    /// most to others than a single host.
    pub(super) fn take(&mut self, id: BindingId, owner: usize, host: Option<IpAddr>) -> bool {
        let free = self.most - self.all;
        if free == 0 || self.each[owner].connections >= free {
            return false;
        }
        if let Some(host) = host {
            let most = self.half_open_most();
            let by_one = self.by_host.get(&host).copied().unwrap_or(0);
            if self.half_open.len() >= most || by_one >= most.div_ceil(BY_ONE) {
                return false;
            }
            self.half_open.insert(id, host);
            *self.by_host.entry(host).or_default() += 1;
        } else {
            self.each[owner].half_open.insert(id);
        }
        self.all += 1;
        self.each[owner].connections += 1;
        true
    }

    /// The connection that the mobile host `owner` has asked for longest, if too many of those do not stand yet.
    pub(super) fn crowded(&self, owner: usize) -> Option<BindingId> {
        let half_open = &self.each[owner].half_open;
        let oldest = half_open.first().copied();
        oldest.filter(|_| half_open.len() >= self.half_open_most())
    }

    /// A connection of `owner` stands now, or is about to go.
    pub(super) fn stands(&mut self, id: BindingId, owner: usize) {
        self.each[owner].half_open.remove(&id);
        let Some(host) = self.half_open.remove(&id) else {
            return;
        };
        if let Some(count) = self.by_host.get_mut(&host) {
            *count -= 1;
            if *count == 0 {
                self.by_host.remove(&host);
            }
        }
    }

    /// A connection of `owner` is gone.
    pub(super) fn give_back(&mut self, id: BindingId, owner: usize) {
        self.stands(id, owner);
        self.all -= 1;
        self.each[owner].connections -= 1;
    }

    fn half_open_most(&self) -> usize {
        self.most.div_ceil(HALF_OPEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u64) -> Option<IpAddr> {
        Some(IpAddr::V4((number as u32).into()))
    }

    /// How many a mobile host gets that asks until it is refused, under names from `first` on, where each stands soon.
    fn taken(shares: &mut Shares, first: u64, owner: usize) -> u64 {
        let names = (first..).map(BindingId);
        let got = names.take_while(|id| {
            let got = shares.take(*id, owner, None);
            shares.stands(*id, owner);
            got
        });
        got.count() as u64
    }

    #[test]
    fn who_takes_all_that_it_gets_leaves_room_to_the_next() {
        let mut shares = Shares::new(96, 3);
        assert_eq!(taken(&mut shares, 0, 0), 48);
        assert_eq!(taken(&mut shares, 100, 1), 24);
        assert_eq!(taken(&mut shares, 200, 2), 12);
        shares.give_back(BindingId(0), 0);
        assert!(!shares.take(BindingId(1_000), 0, None));
        assert!(shares.take(BindingId(1_000), 2, None));
    }

    #[test]
    fn a_flood_of_fixed_hosts_leaves_what_stands_and_what_mobile_hosts_ask_for() {
        let mut shares = Shares::new(96, 1);
        let names = (0..50).take_while(|id| shares.take(BindingId(*id), 0, host(*id)));
        assert_eq!(names.count(), 24);
        assert!(shares.take(BindingId(100), 0, None));
        shares.stands(BindingId(3), 0);
        assert!(shares.take(BindingId(101), 0, host(101)));
        shares.give_back(BindingId(4), 0);
        assert!(shares.take(BindingId(102), 0, host(102)));
        assert!(!shares.take(BindingId(103), 0, host(103)));
    }

    #[test]
    fn one_fixed_host_leaves_most_of_that_to_others() {
        let mut shares = Shares::new(96, 1);
        let names = (0..50).take_while(|id| shares.take(BindingId(*id), 0, host(7)));
        assert_eq!(names.count(), 6);
        assert!(shares.take(BindingId(100), 0, host(8)));
        assert!(!shares.take(BindingId(101), 0, host(7)));
        shares.stands(BindingId(2), 0);
        assert!(shares.take(BindingId(101), 0, host(7)));
        (0..6).for_each(|id| shares.give_back(BindingId(id), 0));
        shares.give_back(BindingId(100), 0);
        shares.give_back(BindingId(101), 0);
        assert!(shares.by_host.is_empty() && shares.half_open.is_empty());
    }

    /// The oldest go first where a mobile host asks for more than is ever answered.
    #[test]
    fn what_nobody_answers_makes_room() {
        let mut shares = Shares::new(96, 2);
        for id in 0..24 {
            assert_eq!(shares.crowded(0), None);
            assert!(shares.take(BindingId(id), 0, None));
        }
        shares.stands(BindingId(0), 0);
        assert_eq!(shares.crowded(0), None);
        assert!(shares.take(BindingId(24), 0, None));
        assert_eq!(
            (shares.crowded(0), shares.crowded(1)),
            (Some(BindingId(1)), None)
        );
        shares.stands(BindingId(1), 0);
        assert_eq!(shares.crowded(0), None);
    }

    #[test]
    fn one_connection_is_room_for_one() {
        let mut shares = Shares::new(1, 2);
        assert!(shares.take(BindingId(0), 1, host(1)));
        assert!(!shares.take(BindingId(1), 0, None));
        shares.give_back(BindingId(0), 1);
        assert!(shares.take(BindingId(2), 0, None));
    }
}
