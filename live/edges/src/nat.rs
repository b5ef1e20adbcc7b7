//! Network address translation at the gateway: what mobiles send leaves with the gateway's address.

use std::fmt::Write as _;

use ipnet::{Ipv4Net, Ipv6Net};

use crate::nft::{NftError, Purpose, Table, link_in_rule, set};

/// Which packets are translated. With no prefix at all, none are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masquerade {
    /// Names the table: `lasthop_<instance>`.
    pub instance: String,
    /// The link to the mobiles; what leaves by it keeps its address.
    pub inner_link: String,
    /// The mobiles' IPv4 addresses.
    pub ipv4: Vec<Ipv4Net>,
    /// The mobiles' IPv6 addresses, where these are to be translated as well (NAT66).
    pub ipv6: Vec<Ipv6Net>,
}

impl Masquerade {
    /// Its table.
    pub fn table(&self) -> Table {
        Table {
            instance: self.instance.clone(),
            purpose: Purpose::Translation,
        }
    }

    /// Makes the table, in the place of one that an earlier run left, in the calling thread's
    /// namespace.
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
