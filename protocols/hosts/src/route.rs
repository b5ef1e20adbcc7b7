//! The routes: addresses and the peers that they belong to.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use session::PeerId;

/// Prefixes of inner addresses and the peers that own them.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Peers by prefix length and network, whose other bits are zero.
    peers: BTreeMap<(u8, IpAddr), usize>,
    /// Lengths of all prefixes, longest first.
    lengths: BTreeSet<Reverse<u8>>,
    by_id: BTreeMap<PeerId, usize>,
}

impl Routes {
    /// Records the number of `peer` in the session layer.
    pub(crate) fn identify(&mut self, id: PeerId, peer: usize) {
        self.by_id.insert(id, peer);
    }

    /// Assigns `network`/`length` to `peer`, unless another peer has it.
    pub(crate) fn add(&mut self, network: IpAddr, length: u8, peer: usize) {
        self.lengths.insert(Reverse(length));
        let prefix = (length, masked(network, length));
        self.peers.entry(prefix).or_insert(peer);
    }

    /// Returns the peer with this number.
    pub(crate) fn index_of(&self, id: PeerId) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Returns the owner of `address`: that of the longest prefix which covers it.
    pub(crate) fn owner(&self, address: IpAddr) -> Option<usize> {
        let prefix = |Reverse(length): &Reverse<u8>| (*length, masked(address, *length));
        let mut prefixes = self.lengths.iter().map(prefix);
        prefixes.find_map(|prefix| self.peers.get(&prefix).copied())
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
}
