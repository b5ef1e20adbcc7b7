//! The routes: addresses and the peers that they belong to.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Prefixes of inner addresses and the peers that own them.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Prefix length, network whose other bits are zero, and peer. The first peer of a prefix owns it.
    claims: BTreeSet<(u8, IpAddr, usize)>,
    /// Number of claims of each prefix length, longest first.
    lengths: BTreeMap<Reverse<u8>, usize>,
}

impl Routes {
    /// Assigns `network`/`length` to `peer`, unless an earlier peer has it, and until then.
    pub(crate) fn add(&mut self, network: IpAddr, length: u8, peer: usize) {
        if self.claims.insert((length, masked(network, length), peer)) {
            *self.lengths.entry(Reverse(length)).or_default() += 1;
        }
    }

    /// Takes `network`/`length` from `peer`.
    pub(crate) fn remove(&mut self, network: IpAddr, length: u8, peer: usize) {
        if self.claims.remove(&(length, masked(network, length), peer))
            && let Some(count) = self.lengths.get_mut(&Reverse(length))
        {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&Reverse(length));
            }
        }
    }

    /// Returns peers with prefixes that cover a part of `network`/`length`, at most one for each length of a prefix.
    pub(crate) fn overlapping(&self, network: IpAddr, length: u8) -> impl Iterator<Item = usize> {
        let covers = move |(its, other, _): &&(u8, IpAddr, usize)| {
            let common = length.min(*its);
            other.is_ipv4() == network.is_ipv4()
                && masked(*other, common) == masked(network, common)
        };
        let lengths = self.lengths.keys();
        let claim = move |Reverse(its): &Reverse<u8>| {
            // Prefixes of a length are in the order of their addresses, so the first one from there on tells.
            let from = (*its, masked(network, length.min(*its)), 0);
            let same = self.claims.range(from..).next();
            same.filter(|claim| claim.0 == *its).filter(covers)
        };
        lengths.filter_map(claim).map(|(_, _, peer)| *peer)
    }

    /// Returns the owner of `address`: that of the longest prefix which covers it.
    pub(crate) fn owner(&self, address: IpAddr) -> Option<usize> {
        let claim = |Reverse(length): &Reverse<u8>| {
            let prefix = (*length, masked(address, *length));
            let mut claims = self.claims.range((prefix.0, prefix.1, 0)..);
            let first = claims.next();
            first.filter(|(length, network, _)| (*length, *network) == prefix)
        };
        let claim = self.lengths.keys().find_map(claim);
        claim.map(|(_, _, peer)| *peer)
    }
}

/// Returns the first `length` bits of `address`, and zero for the others.
fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32)));
            IpAddr::V4((address.to_bits() & mask.unwrap_or(0)).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length.min(128)));
            IpAddr::V6((address.to_bits() & mask.unwrap_or(0)).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_longest_prefix_owns() {
        let mut routes = Routes::default();
        routes.add(address("0.0.0.0"), 0, 0);
        routes.add(address("10.1.0.0"), 16, 1);
        routes.add(address("10.1.2.3"), 32, 2);
        routes.add(address("fd00::"), 8, 3);
        assert_eq!(routes.owner(address("192.0.2.1")), Some(0));
        assert_eq!(routes.owner(address("10.1.9.9")), Some(1));
        assert_eq!(routes.owner(address("10.1.2.3")), Some(2));
        assert_eq!(routes.owner(address("fd12::1")), Some(3));
        assert_eq!(routes.owner(address("2001:db8::1")), None);
        routes.add(address("10.1.7.7"), 16, 4);
        assert_eq!(routes.owner(address("10.1.7.7")), Some(1), "who came first");
        routes.add(address("::"), 0, 5);
        assert_eq!(routes.owner(address("2001:db8::1")), Some(5));
        assert_eq!(routes.owner(address("192.0.2.1")), Some(0));
    }

    #[test]
    fn prefixes_overlap_if_one_covers_the_other() {
        let mut routes = Routes::default();
        routes.add(address("10.1.0.0"), 16, 1);
        routes.add(address("10.2.3.4"), 32, 2);
        routes.add(address("fd00::"), 8, 3);
        let of = |network: &str, length| {
            let mut peers: Vec<_> = routes.overlapping(address(network), length).collect();
            peers.sort_unstable();
            peers
        };
        assert_eq!(of("10.1.2.3", 32), [1]);
        assert_eq!(of("10.0.0.0", 8), [1, 2]);
        assert_eq!(of("0.0.0.0", 0), [1, 2]);
        assert_eq!(of("10.2.3.4", 32), [2]);
        assert_eq!(of("10.2.3.5", 32), Vec::<usize>::new());
        assert_eq!(of("10.3.0.0", 16), Vec::<usize>::new());
        assert_eq!(of("fd12::", 64), [3]);
        assert_eq!(of("::", 0), [3]);
    }

    #[test]
    fn a_prefix_goes_to_the_next_peer_that_claims_it_or_to_nobody() {
        let mut routes = Routes::default();
        routes.add(address("0.0.0.0"), 0, 0);
        for peer in [1, 2, 2] {
            routes.add(address("10.1.0.0"), 16, peer);
        }
        routes.remove(address("10.1.9.9"), 16, 1);
        assert_eq!(routes.owner(address("10.1.2.3")), Some(2));
        routes.remove(address("10.1.0.0"), 16, 1);
        assert_eq!(routes.owner(address("10.1.2.3")), Some(2));
        routes.remove(address("10.1.0.0"), 16, 2);
        assert_eq!(routes.owner(address("10.1.2.3")), Some(0));
        routes.remove(address("0.0.0.0"), 0, 0);
        assert_eq!(routes.owner(address("10.1.2.3")), None);
        assert!(routes.claims.is_empty() && routes.lengths.is_empty());
    }
}
