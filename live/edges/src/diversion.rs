//! Diversion of TCP connections with mobile hosts to our own listener, which learns their original destination (TPROXY,
//! Linux's `Documentation/networking/tproxy.rst`).

use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};

use crate::nameserver::QUESTIONS;
use crate::nft::{NftError, Purpose, Table, link_in_rule};

/// The connections to divert, and the listener. Without any prefix, no connection is diverted.
///
/// Besides the table this needs a rule that routes packets with the mark by a routing table of its own, with a local
/// route to everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diversion {
    /// Instance name, which gives the table its name: `lasthop_<instance>_split`.
    pub instance: String,
    /// Link by which connection requests arrive: those of mobile hosts, and those to them that were let in.
    pub inner_link: String,
    /// Networks whose connection requests are diverted.
    pub from: Networks,
    /// Networks to which connection requests of others are diverted.
    pub to: Networks,
    /// Networks whose connection requests are not diverted, whatever their destination.
    pub except: Networks,
    /// Other ends of connections that are diverted; `None` for all.
    pub destinations: Option<Destinations>,
    /// Port of the listener.
    pub port: u16,
    /// Firewall mark of diverted packets.
    pub mark: u32,
    /// True if the addresses are this host's own: then packets of its own sockets on diverted connections are diverted
    /// as well, by the mark of the connection tracker.
    pub is_own: bool,
}

/// Destinations that mobile hosts may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destinations {
    /// Networks that they may reach.
    pub open: Networks,
    /// Networks that they may not reach, even if they are part of an open one.
    pub closed: Networks,
}

impl Destinations {
    /// Returns true if they may reach `address`.
    pub fn allow(&self, address: IpAddr) -> bool {
        let address = IpNet::from(address.to_canonical());
        self.open.contain(address) && !self.closed.contain(address)
    }

    /// Returns the conditions of a rule for an address of one IP version; none if no address of it meets them.
    fn conditions(&self, version: &str, address: &str) -> Option<String> {
        let open = self.open.set(version)?;
        let closed = self.closed.set(version);
        let closed = closed.map(|set| format!("{version} {address} != {{ {set} }} "));
        Some(format!(
            "{version} {address} {{ {open} }} {}",
            closed.unwrap_or_default()
        ))
    }
}

/// Networks of both IP versions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Networks {
    /// Networks of IPv4.
    pub ipv4: Vec<Ipv4Net>,
    /// Networks of IPv6.
    pub ipv6: Vec<Ipv6Net>,
}

/// Collects networks that hold the same addresses, merged where possible.
impl FromIterator<IpNet> for Networks {
    fn from_iter<I: IntoIterator<Item = IpNet>>(networks: I) -> Self {
        let mut both = Self::default();
        for network in IpNet::aggregate(&networks.into_iter().collect()) {
            match network {
                IpNet::V4(network) => both.ipv4.push(network),
                IpNet::V6(network) => both.ipv6.push(network),
            }
        }
        both
    }
}

impl Diversion {
    /// Returns true for IPv4, and for IPv6, if it concerns addresses of that version.
    pub fn versions(&self) -> (bool, bool) {
        let any = |of: fn(&Networks) -> bool| [&self.from, &self.to].into_iter().any(of);
        (
            any(|one| !one.ipv4.is_empty()),
            any(|one| !one.ipv6.is_empty()),
        )
    }

    /// Returns its table.
    pub fn table(&self) -> Table {
        Table {
            instance: self.instance.clone(),
            purpose: Purpose::Diversion,
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
        let (link, port, mark) = (link_in_rule(&self.inner_link)?, self.port, self.mark);
        let tracks = if self.is_own {
            format!("ct mark set {mark} ")
        } else {
            String::new()
        };
        let (mut rules, mut refusals) = (String::new(), String::new());
        let rules_of = [("saddr", &self.from, "daddr"), ("daddr", &self.to, "saddr")];
        for (end, networks, other) in rules_of {
            for (version, prefixes) in networks.sets() {
                let Some(conditions) = self.conditions(version, other) else {
                    continue;
                };
                let of_link =
                    format!("iifname \"{link}\" {version} {end} {{ {prefixes} }} {conditions}");
                // Writing to a string cannot fail. Connections to this host itself are for its own listeners.
                let _ = writeln!(
                    rules,
                    "    {of_link}fib daddr type != local \
                     tcp flags & (syn | ack) == syn {tracks}tproxy {version} to :{port} meta mark set {mark} accept"
                );
                if end == "saddr" && !self.is_own {
                    // Connections that others have begun, and that are not diverted, are answered from here.
                    let except = self.except.set(version);
                    let except = except.map(|set| format!("{version} daddr != {{ {set} }} "));
                    let _ = writeln!(
                        refusals,
                        "    {of_link}{}tcp flags & (syn | rst) == 0 reject with tcp reset",
                        except.unwrap_or_default()
                    );
                }
            }
        }
        let output = if self.is_own {
            format!(
                "  chain output {{\n    \
                 type route hook output priority mangle; policy accept;\n    \
                 meta l4proto tcp meta mark {mark} ct mark set {mark}\n    \
                 meta l4proto tcp ct mark {mark} meta mark set {mark}\n  }}\n"
            )
        } else {
            String::new()
        };
        // A segment without a socket here belongs to a connection that an earlier run had. The other host's reset may
        // not come through: the kernel forwards no packet that meets an own socket, as that run's in TIME-WAIT.
        let forward = if refusals.is_empty() {
            refusals
        } else {
            // Questions for DNS at an inner address go on as packets, since that is this host's own.
            format!(
                "  chain forward {{\n    \
                 type filter hook forward priority filter - 1; policy accept;\n    \
                 {QUESTIONS} ct status dnat accept\n{refusals}  }}\n"
            )
        };
        // Our own listener has every address, so that it would take segments for a server elsewhere with its port.
        Ok(format!(
            "  chain requests {{\n{rules}  }}\n  \
             chain prerouting {{\n    \
             type filter hook prerouting priority mangle; policy accept;\n    \
             meta l4proto tcp socket wildcard 1 goto requests\n    \
             meta l4proto tcp socket transparent 1 meta mark set {mark} accept\n    \
             meta l4proto {{ icmp, ipv6-icmp }} socket transparent 1 meta mark set {mark} accept\n    \
             goto requests\n  }}\n\
             {output}{forward}"
        ))
    }

    /// Returns the conditions of a rule for the other ends of connections, which are the sources or destinations of
    /// requests of one IP version; none if no address meets them.
    fn conditions(&self, version: &str, other: &str) -> Option<String> {
        let limits = self.destinations.as_ref();
        let limits = limits.map_or(Some(String::new()), |limits| {
            limits.conditions(version, other)
        });
        let except = self.except.set(version).filter(|_| other == "saddr");
        let except = except.map(|set| format!("{version} saddr != {{ {set} }} "));
        Some(limits? + &except.unwrap_or_default())
    }

    #[cfg(test)]
    pub(crate) fn ruleset(&self) -> Result<String, NftError> {
        self.table().ruleset(&self.chains()?)
    }
}
