//! Connections that are held: packets to them are dropped here, so that they can move to another machine without a
//! segment that is acknowledged here and lost ([`crate::repair`]).

use std::fmt::Write as _;
use std::net::SocketAddr;

use planted::Bug;

use crate::nft::{NftError, Purpose, Table};

/// The connections, by their two ends, this host's first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Instance name, which gives the table its name: `lasthop_<instance>_hold`.
    pub instance: String,
    /// The ends.
    pub connections: Vec<[SocketAddr; 2]>,
}

impl Hold {
    /// Returns its table.
    pub fn table(&self) -> Table {
        Table {
            instance: self.instance.clone(),
            purpose: Purpose::Hold,
        }
    }

    /// Installs the table, in place of one that an earlier run left, in the calling thread's namespace.
    ///
    /// # Errors
    /// [`NftError`].
    pub fn install(&self) -> Result<(), NftError> {
        self.table().install(&self.chain())
    }

    /// Returns the chain, which comes before connection tracking and all other tables.
    fn chain(&self) -> String {
        let mut rules = String::new();
        for (version, is_ipv4) in [("ip", true), ("ip6", false)] {
            let connections = self.connections.iter();
            let elements = connections
                .filter(|[local, _]| local.is_ipv4() == is_ipv4)
                .map(|[local, remote]| {
                    let [here, there] = [local, remote].map(|end| (end.ip(), end.port()));
                    format!("{} . {} . {} . {}", there.0, there.1, here.0, here.1)
                });
            let elements: Vec<_> = elements.collect();
            if !elements.is_empty() && !planted::is(Bug::FrozenAcknowledges) {
                let _ = writeln!(
                    rules,
                    "{version} saddr . tcp sport . {version} daddr . tcp dport {{ {} }} drop",
                    elements.join(", ")
                );
            }
        }
        format!("chain held {{\ntype filter hook prerouting priority raw - 10\n{rules}}}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_from_the_other_ends_are_dropped() {
        let ends = |local: &str, remote: &str| [local, remote].map(|end| end.parse().unwrap());
        let hold = Hold {
            instance: "gateway".into(),
            connections: vec![
                ends("10.73.0.2:40000", "198.51.100.2:80"),
                ends("[fd00::2]:40000", "[fd01::2]:80"),
                ends("10.73.0.2:40001", "198.51.100.2:80"),
            ],
        };
        assert_eq!(
            hold.chain(),
            "chain held {\n\
             type filter hook prerouting priority raw - 10\n\
             ip saddr . tcp sport . ip daddr . tcp dport { \
             198.51.100.2 . 80 . 10.73.0.2 . 40000, 198.51.100.2 . 80 . 10.73.0.2 . 40001 } drop\n\
             ip6 saddr . tcp sport . ip6 daddr . tcp dport { fd01::2 . 80 . fd00::2 . 40000 } drop\n\
             }\n"
        );
    }
}
