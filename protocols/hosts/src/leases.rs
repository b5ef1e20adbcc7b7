//! The memory that the peers of a host share.
//!
//! Each peer has a floor. What is left is a pool, of which a peer with more to hold leases a part: at most half of
//! what the others leave, so that a few that take all they can do not leave the next one without (the dynamic
//! threshold of Choudhury and Hahne for shared buffers, IEEE/ACM Transactions on Networking 6(2), 1998, with a factor
//! of 1).

use planted::Bug;
use units::Bytes;

use crate::{Config, HostError};

/// Memory of an association that each peer has in any case: it holds the longest packet in each direction.
pub(crate) const FLOOR: Bytes = Bytes::kibi(192);

/// The leases of all peers.
#[derive(Debug)]
pub(crate) struct Leases {
    /// All memory, and the part of it that can be lent.
    total: Bytes,
    pool: u64,
    /// Sum of all leases.
    lent: u64,
    /// Lease of each peer beyond its floor.
    of: Vec<u64>,
}

impl Leases {
    /// Returns the leases for a host, if its memory is limited.
    ///
    /// # Errors
    /// [`HostError::Memory`] if it is too little.
    pub(crate) fn of(config: &Config) -> Result<Option<Self>, HostError> {
        let least = config.memory_least();
        match config.memory {
            None => Ok(None),
            Some(given) if given < least => Err(HostError::Memory(least)),
            Some(given) => Ok(Some(Self::new(given, least, config.peers.len()))),
        }
    }

    /// Returns the leases of so many peers, which have only their floors: the `least` part of all memory.
    fn new(total: Bytes, least: Bytes, peers: usize) -> Self {
        Self {
            total,
            pool: (total - least).get(),
            lent: 0,
            of: vec![0; peers],
        }
    }

    /// Returns all memory, floors and what is beside them included.
    pub(crate) fn total(&self) -> Bytes {
        self.total
    }

    /// Renews the lease of a peer that wants `wanted` bytes in all; returns the bytes that it may use now if they
    /// have changed. Sizes are powers of two, so that few changes are needed. A lease is never cut below what was
    /// wanted and lent before.
    pub(crate) fn renew(&mut self, peer: usize, wanted: Bytes, most: Bytes) -> Option<Bytes> {
        let wanted = wanted.get().next_power_of_two().min(most.get());
        let wanted = wanted.saturating_sub(FLOOR.get());
        let lease = self.of.get_mut(peer)?;
        let left = if planted::is(Bug::MemoryIsNotShared) {
            u64::MAX
        } else {
            self.pool - (self.lent - *lease)
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
        if let Some(lease) = self.of.get_mut(peer) {
            self.lent -= std::mem::take(lease);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Bytes = Bytes::mebi(96);

    #[test]
    fn each_gets_half_of_what_the_others_leave() {
        let mut leases = Leases::new(Bytes::mebi(74), Bytes::mebi(10), 3);
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
        let mut leases = Leases::new(Bytes::mebi(640), Bytes::ZERO, 1);
        let lease = leases.renew(0, Bytes::mebi(3), MOST);
        assert_eq!(lease, Some(Bytes::mebi(4)));
        assert_eq!(leases.renew(0, Bytes::mebi(4), MOST), None);
        assert_eq!(leases.renew(0, Bytes::mebi(90), MOST), Some(MOST));
    }
}
