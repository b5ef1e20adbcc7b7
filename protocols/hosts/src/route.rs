//! Which peer an inner address belongs to.

use std::net::IpAddr;

/// Prefixes of inner addresses and the peers that own them.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Longest prefixes first.
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    network: IpAddr,
    length: u8,
    peer: usize,
}

impl Routes {
    /// Gives `network`/`length` to `peer`.
    pub(crate) fn add(&mut self, (network, length): (IpAddr, u8), peer: usize) {
        let place = self.entries.partition_point(|entry| entry.length >= length);
        self.entries.insert(
            place,
            Entry {
                network,
                length,
                peer,
            },
        );
    }

    /// The owner of `address`: that of the longest prefix which covers it.
    pub(crate) fn owner(&self, address: IpAddr) -> Option<usize> {
        let covering = |entry: &&Entry| covers(entry.network, entry.length, address);
        self.entries.iter().find(covering).map(|entry| entry.peer)
    }
}

fn covers(network: IpAddr, length: u8, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let mask = u32::MAX
                .checked_shl(32 - u32::from(length.min(32)))
                .unwrap_or(0);
            (network.to_bits() ^ address.to_bits()) & mask == 0
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let mask = u128::MAX
                .checked_shl(128 - u32::from(length.min(128)))
                .unwrap_or(0);
            (network.to_bits() ^ address.to_bits()) & mask == 0
        }
        _ => false,
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
        routes.add((address("0.0.0.0"), 0), 0);
        routes.add((address("10.1.0.0"), 16), 1);
        routes.add((address("10.1.2.3"), 32), 2);
        routes.add((address("fd00::"), 8), 3);
        assert_eq!(routes.owner(address("192.0.2.1")), Some(0));
        assert_eq!(routes.owner(address("10.1.9.9")), Some(1));
        assert_eq!(routes.owner(address("10.1.2.3")), Some(2));
        assert_eq!(routes.owner(address("fd12::1")), Some(3));
        assert_eq!(routes.owner(address("2001:db8::1")), None);
    }
}
