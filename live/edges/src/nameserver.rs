//! The resolver that a gateway offers at its inner addresses: questions there go on to the resolver of the gateway.

use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::nft::{NftError, Purpose, Table, link_in_rule, set};

/// Private networks of IPv4 (RFC 1918).
pub const PRIVATE_IPV4: [&str; 3] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];
/// Private network of IPv6 (RFC 4193).
pub const PRIVATE_IPV6: [&str; 1] = ["fc00::/7"];
/// What a question for DNS is, in a rule.
pub(crate) const QUESTIONS: &str = "meta l4proto { tcp, udp } th dport 53";

/// The way of questions to the resolver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameServer {
    /// Instance name, which gives the table its name: `lasthop_<instance>_names`.
    pub instance: String,
    /// Link to the mobile hosts.
    pub inner_link: String,
    /// Inner addresses, and the resolver to which questions to each go on.
    pub places: Vec<(IpAddr, IpAddr)>,
    /// Inner addresses of other gateways' mobile hosts: what they ask at any private address, such as that of their own
    /// gateway, goes on to the same resolvers.
    pub guests: Vec<IpNet>,
}

impl NameServer {
    /// Returns its table.
    pub fn table(&self) -> Table {
        Table {
            instance: self.instance.clone(),
            purpose: Purpose::Names,
        }
    }

    /// Installs the table, in place of one that an earlier run left, in the calling thread's namespace.
    ///
    /// # Errors
    /// [`NftError`].
    pub fn install(&self) -> Result<(), NftError> {
        self.table().install(&self.chains()?)
    }

    fn chains(&self) -> Result<String, NftError> {
        let link = link_in_rule(&self.inner_link)?;
        let mut rules = String::new();
        for (at, to) in &self.places {
            let (family, version) = match (at, to) {
                (IpAddr::V4(_), IpAddr::V4(_)) => ("ip", "ip"),
                (IpAddr::V6(_), IpAddr::V6(_)) => ("ip6", "ip6"),
                // Rules translate no IP version to the other.
                (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => continue,
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                rules,
                "    iifname \"{link}\" {family} daddr {at} {QUESTIONS} dnat {version} to {to}"
            );
        }
        for guest in &self.guests {
            let of_version = |(_, to): &&(IpAddr, IpAddr)| to.is_ipv4() == guest.addr().is_ipv4();
            let Some((_, to)) = self.places.iter().find(of_version) else {
                continue;
            };
            let (version, private) = match guest {
                IpNet::V4(_) => ("ip", set(&PRIVATE_IPV4)),
                IpNet::V6(_) => ("ip6", set(&PRIVATE_IPV6)),
            };
            let _ = writeln!(
                rules,
                "    iifname \"{link}\" {version} saddr {guest} {version} daddr {{ {private} }} {QUESTIONS} \
                 dnat {version} to {to}"
            );
        }
        Ok(format!(
            "  chain prerouting {{\n    \
             type nat hook prerouting priority dstnat; policy accept;\n{rules}  }}\n"
        ))
    }

    #[cfg(test)]
    pub(crate) fn ruleset(&self) -> Result<String, NftError> {
        self.table().ruleset(&self.chains()?)
    }
}
