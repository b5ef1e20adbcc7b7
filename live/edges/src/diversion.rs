//! TCP that is taken in on its way: connections with mobile hosts end at a listener of ours, which sees whom they were
//! meant for (TPROXY, Linux's `Documentation/networking/tproxy.rst`).

use std::fmt::Write as _;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::nft::{NftError, Purpose, Table, link_in_rule, set};

/// Whose connections are taken in, and by whom. With no prefix at all, nobody's are.
///
/// Beside the table it needs a rule that routes packets with the mark by a table of its own, and there a local route to
/// everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diversion {
    /// Names the table: `lasthop_<instance>_split`.
    pub instance: String,
    /// The link by which requests for connections come, those of mobiles and those to them that were let in.
    pub inner_link: String,
    /// Who asks for connections that are taken in.
    pub from: Networks,
    /// To whom go those that others ask for.
    pub to: Networks,
    /// The port of the listener.
    pub port: u16,
    /// The mark of packets that stay here.
    pub mark: u32,
    /// Whether the addresses are this host's own: then what its own sockets send on connections that were taken in
    /// stays here as well, which the connection tracker tells.
    pub is_own: bool,
}

/// Networks of both kinds of addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Networks {
    /// Of IPv4.
    pub ipv4: Vec<Ipv4Net>,
    /// Of IPv6.
    pub ipv6: Vec<Ipv6Net>,
}

/// Networks that hold the same addresses, joined where that is possible.
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
    /// Whether it concerns addresses of IPv4, and of IPv6.
    pub fn versions(&self) -> (bool, bool) {
        let any = |of: fn(&Networks) -> bool| [&self.from, &self.to].into_iter().any(of);
        (
            any(|one| !one.ipv4.is_empty()),
            any(|one| !one.ipv6.is_empty()),
        )
    }

    /// Its table.
    pub fn table(&self) -> Table {
        Table {
            instance: self.instance.clone(),
            purpose: Purpose::Diversion,
        }
    }

    /// Makes the table, in the place of one that an earlier run left, in the calling thread's namespace.
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
        let mut rules = String::new();
        for (end, networks) in [("saddr", &self.from), ("daddr", &self.to)] {
            let versions = [("ip", set(&networks.ipv4)), ("ip6", set(&networks.ipv6))];
            for (version, prefixes) in versions.into_iter().filter(|(_, set)| !set.is_empty()) {
                // Writing to a string cannot fail. What is meant for this host is for its own listeners.
                let _ = writeln!(
                    rules,
                    "    iifname \"{link}\" {version} {end} {{ {prefixes} }} fib daddr type != local \
                     tcp flags & (syn | ack) == syn {tracks}tproxy {version} to :{port} meta mark set {mark} accept"
                );
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
        Ok(format!(
            "  chain prerouting {{\n    \
             type filter hook prerouting priority mangle; policy accept;\n    \
             meta l4proto tcp socket transparent 1 meta mark set {mark} accept\n    \
             meta l4proto {{ icmp, ipv6-icmp }} socket transparent 1 meta mark set {mark} accept\n{rules}  }}\n{output}"
        ))
    }

    #[cfg(test)]
    pub(crate) fn ruleset(&self) -> Result<String, NftError> {
        self.table().ruleset(&self.chains()?)
    }
}
