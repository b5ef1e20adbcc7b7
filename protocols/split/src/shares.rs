//! The limits on the numbers of connections.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use redirector::{BindingId, Side};
use units::{Duration, Instant};

/// Divisor of the limit of all connections: that share may be half open by requests of fixed hosts; then the divisor
/// of that share for one fixed host.
const HALF_OPEN: usize = 4;
const BY_ONE: usize = 4;
/// Time after which a half-open connection may be evicted to make room: its host repeats the request after as long.
/// It is longer by `ANSWERED_BY_ONE` for a new request to a host that has all half-open connections, and in
/// proportion for others. So a host that leaves a thousand connections unanswered is not sent a thousand more each
/// second, which would leave no time for others.
const ANSWERED: Duration = Duration::from_secs(1);
const ANSWERED_BY_ONE: Duration = Duration::from_secs(15);

/// Numbers of connections of all mobile hosts.
#[derive(Debug)]
pub(crate) struct Shares {
    most: usize,
    all: usize,
    /// By mobile host: those that have connections.
    each: BTreeMap<usize, Share>,
    /// Connections requested by fixed hosts that are half open.
    half_open: HalfOpen,
    /// Connections that were evicted and are not removed by the caller yet.
    evicted: BTreeSet<BindingId>,
}

/// Connections of a mobile host.
#[derive(Debug, Clone, Default)]
struct Share {
    connections: usize,
    /// Connections requested by it that are half open.
    half_open: HalfOpen,
}

/// Half-open connections, the oldest first: the time of the request, and the fixed host.
#[derive(Debug, Clone, Default)]
struct HalfOpen {
    asked: BTreeMap<BindingId, (Instant, IpAddr)>,
    by_host: BTreeMap<IpAddr, usize>,
}

impl HalfOpen {
    fn insert(&mut self, id: BindingId, now: Instant, host: IpAddr) {
        self.asked.insert(id, (now, host));
        *self.by_host.entry(host).or_default() += 1;
    }

    fn remove(&mut self, id: BindingId) {
        let Some((_, host)) = self.asked.remove(&id) else {
            return;
        };
        if let Some(count) = self.by_host.get_mut(&host) {
            *count -= 1;
            if *count == 0 {
                self.by_host.remove(&host);
            }
        }
    }

    fn with(&self, host: IpAddr) -> usize {
        self.by_host.get(&host).copied().unwrap_or(0)
    }

    /// Returns the connection to evict for a new one with `host`: the oldest with the host that has most of them, at
    /// once if that has many more than `host`, otherwise if it was not answered in time.
    fn victim(&self, now: Instant, host: IpAddr) -> Option<BindingId> {
        let most = *self.by_host.values().max()?;
        let mut asked = self.asked.iter();
        // Never one with a host of few, even if its answer is slow: it may be on its way.
        let (id, (asked, _)) = asked.find(|(_, (_, host))| self.with(*host) == most)?;
        let own = self.with(host) as u64;
        let crowded = most as u64 >= 2 * (own + 1);
        let patience = ANSWERED + ANSWERED_BY_ONE * own / self.asked.len() as u64;
        (crowded || now.since(*asked) >= patience).then_some(*id)
    }
}

impl Shares {
    /// Returns the limits for `most` connections of all mobile hosts.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            all: 0,
            each: BTreeMap::new(),
            half_open: HalfOpen::default(),
            evicted: BTreeSet::new(),
        }
    }

    /// Takes a connection of the mobile host `owner` with a fixed host, requested by the side `asker`, if there is
    /// room. Returns false if there is none: a mobile host leaves free as many as it has, requests from the wired
    /// side leave most of the total free, and one fixed host leaves most of those to others.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        id: BindingId,
        owner: usize,
        asker: Side,
        host: IpAddr,
    ) -> bool {
        if !self.has_room(owner) {
            return false;
        }
        match asker {
            Side::Mobile => {
                let share = self.each.entry(owner).or_default();
                share.half_open.insert(id, now, host);
            }
            Side::Fixed => {
                let most = self.most.div_ceil(HALF_OPEN);
                let by_one = self.half_open.with(host);
                if self.half_open.asked.len() >= most || by_one >= most.div_ceil(BY_ONE) {
                    return false;
                }
                self.half_open.insert(id, now, host);
            }
        }
        self.all += 1;
        self.each.entry(owner).or_default().connections += 1;
        true
    }

    /// Evicts a half-open connection requested by `owner` if there is no room for another one with that fixed host,
    /// and returns it.
    pub(crate) fn make_room(
        &mut self,
        now: Instant,
        owner: usize,
        host: IpAddr,
    ) -> Option<BindingId> {
        if self.has_room(owner) {
            return None;
        }
        let id = self.each.get(&owner)?.half_open.victim(now, host)?;
        self.give_back(id, owner);
        self.evicted.insert(id);
        Some(id)
    }

    fn has_room(&self, owner: usize) -> bool {
        let free = self.most - self.all;
        let own = self.each.get(&owner);
        free > 0 && own.map_or(0, |own| own.connections) < free
    }

    /// Notes that a connection of `owner` is established.
    pub(crate) fn stands(&mut self, id: BindingId, owner: usize) {
        if let Some(own) = self.each.get_mut(&owner) {
            own.half_open.remove(id);
        }
        self.half_open.remove(id);
    }

    /// Notes that a connection of `owner` is gone.
    pub(crate) fn give_back(&mut self, id: BindingId, owner: usize) {
        if self.evicted.remove(&id) {
            return;
        }
        self.stands(id, owner);
        self.all -= 1;
        if let Some(own) = self.each.get_mut(&owner) {
            own.connections -= 1;
            if own.connections == 0 {
                self.each.remove(&owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::ZERO;

    fn host(number: u64) -> IpAddr {
        IpAddr::V4((number as u32).into())
    }

    /// Takes a connection of mobile host `owner` with the fixed host `with` under this name, requested by `asker`.
    fn take(shares: &mut Shares, id: u64, owner: usize, asker: Side, with: u64) -> bool {
        shares.take(START, BindingId(id), owner, asker, host(with))
    }

    /// Returns the number of connections that a mobile host gets until it is refused, under names from `first` on.
    fn taken(shares: &mut Shares, first: u64, owner: usize) -> usize {
        let got = (first..).take_while(|id| take(shares, *id, owner, Side::Mobile, *id));
        got.count()
    }

    #[test]
    fn who_takes_all_that_it_gets_leaves_room_to_the_next() {
        let mut shares = Shares::new(96);
        assert_eq!(taken(&mut shares, 0, 0), 48);
        assert_eq!(taken(&mut shares, 100, 1), 24);
        assert_eq!(taken(&mut shares, 200, 2), 12);
        shares.give_back(BindingId(0), 0);
        assert!(!take(&mut shares, 1_000, 0, Side::Mobile, 0));
        assert!(take(&mut shares, 1_000, 2, Side::Mobile, 0));
    }

    #[test]
    fn a_flood_of_fixed_hosts_leaves_what_stands_and_what_mobile_hosts_ask_for() {
        let mut shares = Shares::new(96);
        let got = (0..50).take_while(|id| take(&mut shares, *id, 0, Side::Fixed, *id));
        assert_eq!(got.count(), 24);
        assert!(take(&mut shares, 100, 0, Side::Mobile, 0));
        shares.stands(BindingId(3), 0);
        assert!(take(&mut shares, 101, 0, Side::Fixed, 101));
        shares.give_back(BindingId(4), 0);
        assert!(take(&mut shares, 102, 0, Side::Fixed, 102));
        assert!(!take(&mut shares, 103, 0, Side::Fixed, 103));
    }

    #[test]
    fn one_fixed_host_leaves_most_of_that_to_others() {
        let mut shares = Shares::new(96);
        let got = (0..50).take_while(|id| take(&mut shares, *id, 0, Side::Fixed, 7));
        assert_eq!(got.count(), 6);
        assert!(take(&mut shares, 100, 0, Side::Fixed, 8));
        assert!(!take(&mut shares, 101, 0, Side::Fixed, 7));
        shares.stands(BindingId(2), 0);
        assert!(take(&mut shares, 101, 0, Side::Fixed, 7));
        (0..6).for_each(|id| shares.give_back(BindingId(id), 0));
        shares.give_back(BindingId(100), 0);
        shares.give_back(BindingId(101), 0);
        assert!(shares.half_open.by_host.is_empty() && shares.half_open.asked.is_empty());
        assert_eq!((shares.all, shares.each.len()), (0, 0));
    }

    /// Hosts that do not answer do not block connections to others for long.
    #[test]
    fn what_nobody_answers_makes_room() {
        let mut shares = Shares::new(96);
        for id in 0..48 {
            assert_eq!(shares.make_room(START, 0, host(7)), None);
            assert!(take(&mut shares, id, 0, Side::Mobile, 7));
        }
        assert!(!take(&mut shares, 48, 0, Side::Mobile, 8));
        // More of the same must wait, others need not.
        assert_eq!(shares.make_room(START, 0, host(7)), None);
        assert_eq!(shares.make_room(START, 0, host(8)), Some(BindingId(0)));
        assert!(take(&mut shares, 48, 0, Side::Mobile, 8));
        assert_eq!(shares.make_room(START + ANSWERED, 0, host(7)), None);
        let later = START + ANSWERED + ANSWERED_BY_ONE;
        assert_eq!(shares.make_room(later, 0, host(7)), Some(BindingId(1)));
        assert!(take(&mut shares, 49, 0, Side::Mobile, 7));
        // Each is given back once.
        (0..50).for_each(|id| shares.give_back(BindingId(id), 0));
        assert_eq!((shares.all, shares.each.len()), (0, 0));
        assert!(shares.evicted.is_empty());
    }

    #[test]
    fn a_slow_answer_is_waited_for_while_another_host_has_more_that_are_not_answered() {
        let mut shares = Shares::new(96);
        assert!(take(&mut shares, 0, 0, Side::Mobile, 8));
        for id in 1..48 {
            assert!(take(&mut shares, id, 0, Side::Mobile, 7));
        }
        for id in 48..90 {
            let later = START + ANSWERED_BY_ONE * id;
            let gone = shares.make_room(later, 0, host(7));
            assert_eq!(gone, Some(BindingId(id - 47)));
            assert!(take(&mut shares, id, 0, Side::Mobile, 7));
        }
    }

    #[test]
    fn many_hosts_that_do_not_answer_make_room_soon() {
        let mut shares = Shares::new(96);
        assert_eq!(taken(&mut shares, 0, 0), 48);
        assert_eq!(shares.make_room(START, 0, host(100)), None);
        let gone = shares.make_room(START + ANSWERED, 0, host(100));
        assert_eq!(gone, Some(BindingId(0)));
    }

    #[test]
    fn what_stands_makes_no_room() {
        let mut shares = Shares::new(96);
        let all = taken(&mut shares, 0, 0);
        (0..48).for_each(|id| shares.stands(BindingId(id), 0));
        assert_eq!(all, 48);
        assert_eq!(shares.make_room(START + ANSWERED * 9, 0, host(1)), None);
    }

    #[test]
    fn one_connection_is_room_for_one() {
        let mut shares = Shares::new(1);
        assert!(take(&mut shares, 0, 1, Side::Fixed, 0));
        assert!(!take(&mut shares, 1, 0, Side::Mobile, 0));
        shares.give_back(BindingId(0), 1);
        assert!(take(&mut shares, 2, 0, Side::Mobile, 0));
    }
}
