//! Forwarding by rule at the gateway: between the hop and the named networks, and nothing else.

use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::diversion::Networks;
use crate::nameserver::QUESTIONS;
use crate::nft::{NftError, Purpose, Table, link_in_rule, set};

/// Interface type of TUN devices (`ARPHRD_NONE` in `linux/if_arp.h`): tunnels have rules of their own.
const TUNNEL: u16 = 65_534;

/// The packets that a gateway forwards. Rules of others apply too: what they drop is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forwarding {
    /// Instance name, which gives the table its name: `lasthop_<instance>_forward`.
    pub instance: String,
    /// Link to the mobile hosts.
    pub inner_link: String,
    /// Networks to which mobile hosts may begin connections.
    pub networks: Networks,
    /// Resolvers to which questions at inner addresses go on ([`NameServer`](crate::nameserver::NameServer)), wherever
    /// they are.
    pub resolvers: Vec<IpAddr>,
    /// True if mobile hosts may not reach each other.
    pub isolates: bool,
    /// True if hosts of `networks` may begin connections to mobile hosts; otherwise they only answer.
    pub admits_requests: bool,
    /// True for IPv4, and for IPv6, if nothing that neither comes from a tunnel nor goes to one is forwarded.
    pub closes: (bool, bool),
}

impl Forwarding {
    /// Returns true if it forbids anything.
    pub fn forbids(&self) -> bool {
        let is_everything = self.networks.has_all_of_ipv4() && self.networks.has_all_of_ipv6();
        let is_closed = self.closes.0 || self.closes.1;
        self.isolates || is_closed || !self.admits_requests || !is_everything
    }

    /// Returns its table.
    pub fn table(&self) -> Table {
        Table {
            instance: self.instance.clone(),
            purpose: Purpose::Forwarding,
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
        // Mobile hosts are answered, so that their programs need not wait; others are not.
        let refuse = "reject with icmpx type admin-prohibited";
        let inside = format!("iifname \"{link}\" oifname \"{link}\"");
        let mut rules = String::new();
        let mut rule = |text: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = writeln!(rules, "    {text}");
        };
        if self.isolates {
            // The kernel limits its ICMP messages to one host, and spends them on redirects here.
            rule(format_args!(
                "{inside} meta l4proto tcp reject with tcp reset"
            ));
            rule(format_args!("{inside} {refuse}"));
        } else {
            rule(format_args!("{inside} accept"));
        }
        rule(format_args!("ct state established,related accept"));
        for resolver in &self.resolvers {
            let version = if resolver.is_ipv4() { "ip" } else { "ip6" };
            rule(format_args!(
                "iifname \"{link}\" {version} daddr {resolver} {QUESTIONS} ct status dnat accept"
            ));
        }
        for (version, prefixes) in self.networks.sets() {
            rule(format_args!(
                "iifname \"{link}\" {version} daddr {{ {prefixes} }} accept"
            ));
            if self.admits_requests {
                rule(format_args!(
                    "oifname \"{link}\" {version} saddr {{ {prefixes} }} accept"
                ));
            }
        }
        rule(format_args!("iifname \"{link}\" {refuse}"));
        rule(format_args!("oifname \"{link}\" drop"));
        for (closes, version) in [(self.closes.0, "ipv4"), (self.closes.1, "ipv6")] {
            if closes {
                rule(format_args!(
                    "meta nfproto {version} iiftype != {TUNNEL} oiftype != {TUNNEL} drop"
                ));
            }
        }
        Ok(format!(
            "  chain forward {{\n    type filter hook forward priority filter; policy accept;\n{rules}  }}\n"
        ))
    }

    #[cfg(test)]
    pub(crate) fn ruleset(&self) -> Result<String, NftError> {
        self.table().ruleset(&self.chains()?)
    }
}

impl Networks {
    /// Returns the networks of each IP version that has any, as elements of a set.
    pub(crate) fn sets(&self) -> impl Iterator<Item = (&'static str, String)> {
        let versions = [("ip", set(&self.ipv4)), ("ip6", set(&self.ipv6))];
        versions.into_iter().filter(|(_, set)| !set.is_empty())
    }

    /// Returns the networks of one IP version as elements of a set, if there are any.
    pub(crate) fn set(&self, version: &str) -> Option<String> {
        let mut sets = self.sets();
        sets.find_map(|(one, set)| (one == version).then_some(set))
    }

    /// Returns true if one of them contains `network`.
    pub fn contain(&self, network: IpNet) -> bool {
        match network {
            IpNet::V4(network) => self.ipv4.iter().any(|one| one.contains(&network)),
            IpNet::V6(network) => self.ipv6.iter().any(|one| one.contains(&network)),
        }
    }

    fn has_all_of_ipv4(&self) -> bool {
        self.contain(Ipv4Net::default().into())
    }

    fn has_all_of_ipv6(&self) -> bool {
        self.contain(Ipv6Net::default().into())
    }
}
