//! Which connections of strangers are taken, and how many.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use units::{Duration, Instant};

/// Most connections, and most of one address (IPv6: of one network of 64 bits).
pub(super) const MOST: usize = 1_024;
pub(super) const MOST_OF_ONE: usize = 64;
/// Most connections whose host is not known to be a peer.
pub(super) const MOST_STRANGERS: usize = 128;
/// Most new connections in a second, and most of them of one address. Each costs a signature and a key exchange.
const NEW: u32 = 64;
const NEW_OF_ONE: u32 = 8;
const SECOND: Duration = Duration::from_secs(1);

/// The connections of the present second.
#[derive(Debug, Default)]
pub(super) struct Admission {
    since: Instant,
    count: u32,
    by_sender: BTreeMap<IpAddr, u32>,
}

impl Admission {
    /// Returns true if a new connection from this address is taken, and counts it.
    pub(super) fn takes(&mut self, now: Instant, from: IpAddr) -> bool {
        if now.since(self.since) >= SECOND {
            (self.since, self.count) = (now, 0);
            self.by_sender.clear();
        }
        // No more entries than the total allows.
        if self.count >= NEW {
            return false;
        }
        let count = self.by_sender.entry(sender(from)).or_default();
        if *count >= NEW_OF_ONE {
            return false;
        }
        *count += 1;
        self.count += 1;
        true
    }
}

/// Returns the part of an address that stands for one sender: a whole network of IPv6.
pub(super) fn sender(at: IpAddr) -> IpAddr {
    match at.to_canonical() {
        IpAddr::V4(at) => at.into(),
        IpAddr::V6(at) => Ipv6Addr::from_bits(at.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sender_and_all_together_are_limited_in_each_second() {
        let mut admission = Admission::default();
        let at =
            |number: u16| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, number, 1, 2, 3, number));
        let now = Instant::from_millis(5_000);
        let one = (0..100).filter(|_| admission.takes(now, at(1))).count();
        assert_eq!(one, NEW_OF_ONE as usize);
        let others = (2..500)
            .filter(|number| admission.takes(now, at(*number)))
            .count();
        assert_eq!(one + others, NEW as usize);
        assert!(!admission.takes(now, at(1)) && admission.by_sender.len() <= NEW as usize);
        assert!(admission.takes(now + SECOND, at(1)));
    }

    #[test]
    fn a_network_is_one_sender() {
        let at = |text: &str| sender(text.parse().unwrap());
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:2"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
        assert_ne!(at("192.0.2.2"), at("192.0.2.1"));
    }
}
