//! Inner addresses that follow mobile hosts of the site to the gateway that stands in for their home.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;
use toml::Spanned;

use super::Source;
use super::values::Network;
use crate::failure::Failure;

/// The section.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Follow {
    /// The addresses, on all gateways alike.
    networks: Spanned<Vec<Network>>,
    /// Link to a LAN whose hosts have them as neighbours.
    pub(crate) lan: Option<String>,
}

impl Follow {
    /// Refuses addresses that cannot follow.
    pub(super) fn check(&self, translates: bool, source: &Source) -> Result<(), Failure> {
        let what = if translates {
            "translated addresses cannot follow a mobile host; set `nat = false`, or remove this section"
        } else if self.networks.get_ref().is_empty() {
            "name the inner addresses of the site's mobile hosts, like [\"10.73.0.0/24\"]"
        } else {
            return Ok(());
        };
        Err(source.wrong(Some(self.networks.span()), what))
    }

    /// Returns true if all of a network may follow.
    pub(crate) fn contains(&self, network: &IpNet) -> bool {
        let mut networks = self.networks.get_ref().iter();
        networks.any(|Network(known)| known.trunc().contains(network))
    }

    /// Returns which of these networks are single addresses that may follow.
    pub(crate) fn addresses<'a>(
        &'a self,
        networks: impl Iterator<Item = &'a IpNet>,
    ) -> impl Iterator<Item = IpAddr> {
        let is_one = |network: &&IpNet| network.prefix_len() == network.max_prefix_len();
        networks
            .filter(is_one)
            .filter(|network| self.contains(network))
            .map(IpNet::addr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_addresses_of_its_networks_follow() {
        let text = "networks = [\"10.73.0.64/26\", \"fd73::/64\"]";
        let follow: Follow = toml::from_str(text).expect("a section");
        let networks: Vec<IpNet> = [
            "10.73.0.66/32",
            "10.73.0.1/32",
            "10.73.0.80/28",
            "fd73::2/128",
        ]
        .into_iter()
        .map(|text| text.parse().expect("a network"))
        .collect();
        let found: Vec<_> = follow.addresses(networks.iter()).collect();
        assert_eq!(found, [networks[0].addr(), networks[3].addr()]);
        assert!(follow.contains(&networks[2]));
    }
}
