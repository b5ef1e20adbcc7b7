//! A lease of the right to answer neighbours on a LAN for inner addresses. It ends in the kernel, also while the daemon
//! stands still: another gateway may answer for them then. An address that another host of the LAN announces is that
//! one's, until this host announces it.

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
/// Most addresses that others have announced; there are fewer inner addresses.
const MOST: usize = 65_536;
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

    /// Installs the table with a new term, in place of one that an earlier run left, in the calling thread's namespace.
    /// The kernel must have the egress hook (Linux 5.16).
    ///
    /// # Errors
    /// [`NftError`].
    pub fn install(&self) -> Result<(), NftError> {
        self.table().install(&self.chains()?)?;
        self.adapt()
    }

    /// Gives an installed table these addresses, in place of those that it had. What others have announced stays so.
    ///
    /// # Errors
    /// [`NftError`].
    pub fn adapt(&self) -> Result<(), NftError> {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for address in &self.addresses {
            match address {
                IpAddr::V4(address) => ipv4.push(address.to_string()),
                IpAddr::V6(address) => ipv6.push(format!("{:#034x}", address.to_bits())),
            }
        }
        self.table()
            .replace_elements(&[("own4", ipv4), ("own6", ipv6)])
    }

    /// Returns the sets and chains. A packet of the daemon renews the one element of `valid`, without which nothing
    /// leaves that says who has an address; and what others announce, and this host, tells who has it now.
    fn chains(&self) -> Result<String, NftError> {
        let [link, lan] = [link_in_rule(&self.inner_link)?, link_in_rule(&self.lan)?];
        let term = format!("timeout {}ms", TERM.as_millis());
        let all = [Messages::ARP, Messages::ND];
        let sets = all.each_ref().map(Messages::sets).concat();
        let claims = all.each_ref().map(Messages::claim).concat();
        let answers = all.each_ref().map(Messages::answers).concat();
        // Ended elements count until the kernel collects them.
        Ok(format!(
            "  set valid {{ type ifname; flags dynamic,timeout; {term}; size 64; elements = {{ \"{lan}\" }}; }}\n\
             {sets}  \
             chain renewals {{\n    \
             type filter hook ingress device \"{link}\" priority filter; policy accept;\n    \
             meta protocol ip ip saddr {SOURCE} ip protocol {PROTOCOL} update @valid {{ \"{lan}\" {term} }} drop\n  \
             }}\n  \
             chain claims {{\n    \
             type filter hook ingress device \"{lan}\" priority filter; policy accept;\n\
             {claims}  \
             }}\n  \
             chain answers {{\n    \
             type filter hook egress device \"{lan}\" priority filter; policy accept;\n\
             {answers}  \
             }}\n"
        ))
    }
}

/// The messages by which neighbours learn who has an address of a version of IP, as rules match them.
struct Messages {
    version: u8,
    /// Type of the addresses in a set.
    key: &'static str,
    /// All of them, and what is true of announcements only.
    any: &'static str,
    announced: &'static str,
    /// The address that they are about.
    address: &'static str,
}

impl Messages {
    const ARP: Self = Self {
        version: 4,
        key: "type ipv4_addr",
        any: "meta protocol arp",
        announced: "arp operation request",
        address: "arp saddr ip",
    };
    /// The flag Override is the third bit of bits 32 to 39, and those from 64 on are the target (RFC 4861, section
    /// 4.4). The kernel does not set it when it answers for others, as section 7.2.8 demands.
    const ND: Self = Self {
        version: 6,
        key: "typeof @th,64,128",
        any: "meta protocol ip6 icmpv6 type nd-neighbor-advert",
        announced: "@th,32,8 & 0x20 == 0x20",
        address: "@th,64,128",
    };

    /// Returns the sets of the addresses that this host answers for, and of those that others have announced since.
    fn sets(&self) -> String {
        let Self { version, key, .. } = self;
        format!(
            "  set own{version} {{ {key}; }}\n  set taken{version} {{ {key}; flags dynamic; size {MOST}; }}\n"
        )
    }

    /// Returns what matches an announcement of an address that this host answers for.
    fn announcement(&self) -> String {
        format!(
            "{} {} {} @own{}",
            self.any, self.announced, self.address, self.version
        )
    }

    /// Returns the rule for what comes.
    fn claim(&self) -> String {
        let (version, address) = (self.version, self.address);
        format!(
            "    {} update @taken{version} {{ {address} }}\n",
            self.announcement()
        )
    }

    /// Returns the rules for what leaves.
    fn answers(&self) -> String {
        let (version, any, address) = (self.version, self.any, self.address);
        format!(
            "    meta oifname != @valid {any} {address} @own{version} drop\n    \
             {} delete @taken{version} {{ {address} }}\n    \
             {any} {address} @taken{version} drop\n",
            self.announcement()
        )
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
