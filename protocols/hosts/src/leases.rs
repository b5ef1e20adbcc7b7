//! The memory that the peers of a host share.
//!
//! Each peer has a floor. What is left is a pool, of which a peer with more to hold leases a part: at most half of
//! what the others leave, so that a few that take all they can do not leave the next one without (the dynamic
//! threshold of Choudhury and Hahne for shared buffers, IEEE/ACM Transactions on Networking 6(2), 1998, with a factor
//! of 1).

use std::collections::BTreeMap;

use planted::Bug;
use units::Bytes;

/// Memory of an association that each peer has in any case: it holds the longest packet in each direction.
pub(crate) const FLOOR: Bytes = Bytes::kibi(192);

/// The leases of all peers.
#[derive(Debug)]
pub(crate) struct Leases {
    /// All memory.
    total: Bytes,
    /// Sum of the floors, with what is beside them: the part that is not lent.
    least: Bytes,
    /// Sum of all leases.
    lent: u64,
    of: BTreeMap<usize, Lease>,
}

/// Memory of one peer.
#[derive(Debug, Default)]
struct Lease {
    /// Its floor, with what is beside it.
    least: Bytes,
    /// Memory beyond its floor.
    extra: u64,
}

impl Leases {
    /// Returns the leases of a host without peers.
    pub(crate) fn new(total: Bytes) -> Self {
        Self {
            total,
            least: Bytes::ZERO,
            lent: 0,
            of: BTreeMap::new(),
        }
    }

    /// Returns all memory, floors and what is beside them included.
    pub(crate) fn total(&self) -> Bytes {
        self.total
    }

    /// Sets all memory. What is lent already stays with its peer until that needs it no more.
    pub(crate) fn set_total(&mut self, total: Bytes) {
        self.total = total;
    }

    /// Adds a peer that needs the `least` part of all memory in any case. If that was lent to others, they keep it
    /// until they need it no more, so for that time the total may be exceeded by this part.
    ///
    /// # Errors
    /// The memory that the peers would need at least, if that is more than there is.
    pub(crate) fn join(&mut self, peer: usize, least: Bytes) -> Result<(), Bytes> {
        if let Some(sum) = self.without_room(least, Bytes::ZERO) {
            return Err(sum);
        }
        self.least += least;
        self.of.insert(peer, Lease { least, extra: 0 });
        Ok(())
    }

    /// Returns the memory that the peers would need at least if one of them needed `least` in place of `former`;
    /// `None` if that is there.
    pub(crate) fn without_room(&self, least: Bytes, former: Bytes) -> Option<Bytes> {
        let sum = self.least - former + least;
        (self.total < sum).then_some(sum)
    }

    /// Removes a peer.
    pub(crate) fn leave(&mut self, peer: usize) {
        self.end(peer);
        if let Some(lease) = self.of.remove(&peer) {
            self.least -= lease.least;
        }
    }

    /// Renews the lease of a peer that wants `wanted` bytes in all; returns the bytes that it may use now if they
    /// have changed. Sizes are powers of two, so that few changes are needed. A lease is never cut below what was
    /// wanted and lent before.
    pub(crate) fn renew(&mut self, peer: usize, wanted: Bytes, most: Bytes) -> Option<Bytes> {
        let wanted = wanted.get().next_power_of_two().min(most.get());
        let wanted = wanted.saturating_sub(FLOOR.get());
        let Lease { extra: lease, .. } = self.of.get_mut(&peer)?;
        let left = if planted::is(Bug::MemoryIsNotShared) {
            u64::MAX
        } else {
            let pool = (self.total - self.least).get();
            pool.saturating_sub(self.lent - *lease)
        };
        let renewed = wanted.min((left / 2).max(*lease));
        if renewed == *lease {
            return None;
        }
        self.lent = self.lent - *lease + renewed;
        *lease = renewed;
        Some(FLOOR + Bytes::new(renewed))
    }

    /// Ends the lease of a peer that holds nothing any more.
    pub(crate) fn end(&mut self, peer: usize) {
        if let Some(lease) = self.of.get_mut(&peer) {
            self.lent -= std::mem::take(&mut lease.extra);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Bytes = Bytes::mebi(96);

    /// Returns leases of this many MiB for peers that need so many at least.
    fn leases<const PEERS: usize>(total: u64, least: [u64; PEERS]) -> Leases {
        let mut leases = Leases::new(Bytes::mebi(total));
        for (peer, least) in least.into_iter().enumerate() {
            assert_eq!(leases.join(peer, Bytes::mebi(least)), Ok(()));
        }
        leases
    }

    #[test]
    fn a_peer_that_joins_gets_its_floor_and_others_keep_what_they_hold() {
        let mut leases = leases(74, [10]);
        let lease = |extra| Some(FLOOR + Bytes::mebi(extra));
        assert_eq!(leases.renew(0, Bytes::mebi(90), MOST), lease(32));
        assert_eq!(leases.join(1, Bytes::mebi(65)), Err(Bytes::mebi(75)));
        assert_eq!(leases.join(1, Bytes::mebi(60)), Ok(()));
        assert_eq!(leases.renew(0, Bytes::mebi(90), MOST), None, "it keeps it");
        assert_eq!(leases.renew(1, Bytes::mebi(90), MOST), None, "all is lent");
        assert_eq!(leases.renew(0, Bytes::kibi(1), MOST), Some(FLOOR));
        assert_eq!(leases.renew(1, Bytes::mebi(90), MOST), lease(2));
        leases.leave(1);
        assert_eq!(leases.renew(0, Bytes::mebi(90), MOST), lease(32));
        leases.set_total(Bytes::mebi(10));
        assert_eq!(leases.renew(0, Bytes::mebi(90), MOST), None, "it keeps it");
    }

    #[test]
    fn each_gets_half_of_what_the_others_leave() {
        let mut leases = leases(74, [5, 3, 2]);
        let lease = |extra| Some(FLOOR + Bytes::mebi(extra));
        assert_eq!(leases.renew(0, Bytes::mebi(90), MOST), lease(32));
        assert_eq!(leases.renew(1, Bytes::mebi(90), MOST), lease(16));
        assert_eq!(leases.renew(2, Bytes::mebi(90), MOST), lease(8));
        assert_eq!(leases.renew(2, Bytes::mebi(90), MOST), None);
        leases.end(0);
        assert_eq!(leases.renew(2, Bytes::mebi(90), MOST), lease(24));
        assert_eq!(leases.renew(1, Bytes::kibi(1), MOST), Some(FLOOR));
        assert!(
            leases.renew(9, MOST, MOST).is_none(),
            "there is no such peer"
        );
    }

    #[test]
    fn nobody_gets_more_than_is_wanted_and_allowed() {
        let mut leases = leases(640, [0]);
        let lease = leases.renew(0, Bytes::mebi(3), MOST);
        assert_eq!(lease, Some(Bytes::mebi(4)));
        assert_eq!(leases.renew(0, Bytes::mebi(4), MOST), None);
        assert_eq!(leases.renew(0, Bytes::mebi(90), MOST), Some(MOST));
    }
}
