//! TCP that is taken in on its way: connections with mobile hosts end at a listener of ours, which sees whom they were
//! meant for (TPROXY, Linux's `Documentation/networking/tproxy.rst`).

use std::fmt::Write as _;

use ipnet::{Ipv4Net, Ipv6Net};

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
    /// The mobiles' IPv4 addresses.
    pub ipv4: Vec<Ipv4Net>,
    /// The mobiles' IPv6 addresses.
    pub ipv6: Vec<Ipv6Net>,
    /// The port of the listener.
    pub port: u16,
    /// The mark of packets that stay here.
    pub mark: u32,
    /// Whether the addresses are this host's own: then what its own sockets send on connections that were taken in
    /// stays here as well, which the connection tracker tells.
    pub is_own: bool,
}

impl Diversion {
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
        let mut rules = String::new();
        let mut rule = |version: &str, prefixes: String| {
            if prefixes.is_empty() {
                return;
            }
            let (ends, tracks): (&[_], _) = if self.is_own {
                (&["saddr"], format!("ct mark set {mark} "))
            } else {
                (&["saddr", "daddr"], String::new())
            };
            for end in ends {
                // Writing to a string cannot fail. What is meant for this host is for its own listeners.
                let _ = writeln!(
                    rules,
                    "    iifname \"{link}\" {version} {end} {{ {prefixes} }} fib daddr type != local \
                     tcp flags & (syn | ack) == syn {tracks}tproxy {version} to :{port} meta mark set {mark} accept"
                );
            }
        };
        rule("ip", set(&self.ipv4));
        rule("ip6", set(&self.ipv6));
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
