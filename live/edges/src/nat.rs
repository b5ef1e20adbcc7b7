//! Network address translation at the gateway: packets of mobile hosts leave with the gateway's address.

use std::fmt::Write as _;

use ipnet::{Ipv4Net, Ipv6Net};

use crate::nft::{NftError, Purpose, Table, link_in_rule, set};

/// The packets to translate. Without any prefix, none are translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masquerade {
    /// Instance name, which gives the table its name: `lasthop_<instance>`.
    pub instance: String,
    /// Link to the mobile hosts; packets that leave by it keep their address.
    pub inner_link: String,
    /// IPv4 addresses of the mobile hosts.
    pub ipv4: Vec<Ipv4Net>,
    /// IPv6 addresses of the mobile hosts, if they are to be translated as well (NAT66).
    pub ipv6: Vec<Ipv6Net>,
}

impl Masquerade {
    /// Returns its table.
    pub fn table(&self) -> Table {
        Table {
            instance: self.instance.clone(),
            purpose: Purpose::Translation,
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
        let mut rule = |version: &str, prefixes: String| {
            if !prefixes.is_empty() {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    rules,
                    "    {version} saddr {{ {prefixes} }} oifname != \"{link}\" masquerade"
                );
            }
        };
        rule("ip", set(&self.ipv4));
        rule("ip6", set(&self.ipv6));
        Ok(format!(
            "  chain postrouting {{\n    \
             type nat hook postrouting priority srcnat; policy accept;\n{rules}  }}\n"
        ))
    }

    #[cfg(test)]
    pub(crate) fn ruleset(&self) -> Result<String, NftError> {
        self.table().ruleset(&self.chains()?)
    }
}
