//! A lease of the right to answer neighbours on a LAN for inner addresses. It ends in the kernel, also while the daemon
//! stands still: another gateway may answer for them then.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{IpProtocol, Ipv4Packet, Ipv4Repr};
use units::{Duration, Instant};
use wire::packet::{Packet, PacketBuffer};

use crate::nft::{NftError, Purpose, Table, link_in_rule};

/// Time after which a lease ends that nobody has renewed. Another gateway stands in after a longer silence.
pub const TERM: Duration = Duration::from_secs(1);
/// Source of a [`renewal`]. No packet of a mobile host has it.
const SOURCE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Protocol of a [`renewal`], for experiments (RFC 3692).
const PROTOCOL: u8 = 253;
/// Time between two renewals.
const INTERVAL: Duration = Duration::from_millis(250);

/// The addresses, and where they are answered for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Instance name, which gives the table its name: `lasthop_<instance>_lease`.
    pub instance: String,
    /// Link to the mobile hosts, by which the daemon renews the lease.
    pub inner_link: String,
    /// Link to the LAN.
    pub lan: String,
    /// Inner addresses for which the kernel answers.
    pub addresses: BTreeSet<IpAddr>,
}

impl Lease {
    /// Returns its table.
    pub fn table(&self) -> Table {
        Table {
            instance: self.instance.clone(),
            purpose: Purpose::Lease,
        }
    }

    /// Installs the table with a new term, in place of an earlier one, in the calling thread's namespace. The kernel
    /// must have the egress hook (Linux 5.16).
    ///
    /// # Errors
    /// [`NftError`].
    pub fn install(&self) -> Result<(), NftError> {
        self.table().install(&self.chains()?)
    }

    /// Returns the chains: a packet of the daemon renews the one element of a set, without which no answer leaves.
    fn chains(&self) -> Result<String, NftError> {
        let [link, lan] = [link_in_rule(&self.inner_link)?, link_in_rule(&self.lan)?];
        let term = format!("timeout {}ms", TERM.as_millis());
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for address in &self.addresses {
            match address {
                IpAddr::V4(address) => ipv4.push(address.to_string()),
                IpAddr::V6(address) => ipv6.push(format!("{:#034x}", address.to_bits())),
            }
        }
        // Ended elements count until the kernel collects them.
        let valid = format!(
            "  set valid {{\n    type ifname; flags dynamic,timeout; {term}; size 64; \
             elements = {{ \"{lan}\" }}\n  }}\n"
        );
        let answer = |rule: &str, addresses: Vec<String>| match addresses.join(", ") {
            none if none.is_empty() => none,
            some => format!("    {rule} {{ {some} }} drop\n"),
        };
        // The target of an advertisement is its bits 64 to 191 (RFC 4861, section 4.4).
        let answers = [
            answer("meta protocol arp arp operation reply arp saddr ip", ipv4),
            answer(
                "meta protocol ip6 icmpv6 type nd-neighbor-advert @th,64,128",
                ipv6,
            ),
        ];
        Ok(format!(
            "{valid}  chain renewals {{\n    \
             type filter hook ingress device \"{link}\" priority filter; policy accept;\n    \
             meta protocol ip ip saddr {SOURCE} ip protocol {PROTOCOL} update @valid {{ \"{lan}\" {term} }} drop\n  \
             }}\n  chain answers {{\n    \
             type filter hook egress device \"{lan}\" priority filter; policy accept;\n    \
             meta oifname @valid accept\n{}  }}\n",
            answers.concat()
        ))
    }
}

/// Returns a packet that renews the lease of the TUN device that it is sent to, and goes no further.
pub fn renewal() -> Packet {
    let header = Ipv4Repr {
        src_addr: SOURCE,
        dst_addr: SOURCE,
        next_header: IpProtocol::Unknown(PROTOCOL),
        payload_len: 0,
        hop_limit: 1,
    };
    let mut bytes = vec![0; header.buffer_len()];
    header.emit(
        &mut Ipv4Packet::new_unchecked(&mut bytes),
        &ChecksumCapabilities::default(),
    );
    Packet::opaque(PacketBuffer::copy_of(&bytes))
}

/// Times of the renewals of a lease.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Renewals {
    /// Time when the lease ends, once it was renewed.
    ends: Option<Instant>,
    next: Instant,
}

impl Renewals {
    /// Returns the time of the next renewal.
    pub(crate) fn poll_timeout(self) -> Instant {
        self.next
    }

    /// Returns true if the lease is to be renewed now. One that has ended is, too: who stands in here answers no more
    /// once it hears this gateway, and passes on what still comes.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        let ends = self.ends.replace(now + TERM);
        if ends.is_some_and(|ends| ends <= now) {
            tracing::warn!(
                "this gateway stood still, and did not answer neighbours for its mobile hosts"
            );
        }
        self.next = now + INTERVAL;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_renewed_before_it_ends_and_when_it_has() {
        let at = Instant::from_millis;
        let mut renewals = Renewals::default();
        for (now, is_due) in [
            (10_000, true),
            (10_249, false),
            (10_250, true),
            (11_249, true),
            (11_250, false),
            (60_000, true),
            (60_001, false),
        ] {
            assert_eq!(renewals.is_due(at(now)), is_due, "{now}");
        }
        assert_eq!(renewals.poll_timeout(), at(60_250));
    }
}
