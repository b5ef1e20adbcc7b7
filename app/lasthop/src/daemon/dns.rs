//! The resolver that a gateway offers to its mobile hosts.

use std::net::IpAddr;

use edges::{nft, resolver};
use hosts::Resolvers;
use ipnet::IpNet;

use crate::config::dns::Dns;
use crate::config::gateway::GatewayConfig;

/// What a gateway offers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Offer {
    pub(super) resolvers: Resolvers,
    /// Inner addresses of the gateway, and the resolver to which questions to each go on.
    pub(super) places: Vec<(IpAddr, IpAddr)>,
}

/// Returns true if a gateway with this configuration should offer a resolver, and has none to offer.
pub(crate) fn lacks_resolver(config: &GatewayConfig) -> bool {
    config.dns != Dns::None && Offer::of(config).resolvers.servers().is_empty()
}

impl Offer {
    /// Returns what a gateway with this configuration can offer now.
    pub(super) fn of(config: &GatewayConfig) -> Self {
        let servers = match &config.dns {
            Dns::None => return Self::default(),
            // A gateway that forwards nothing leads no questions on.
            Dns::Auto if config.networks().next().is_none() || !nft::is_installed() => {
                return Self::default();
            }
            Dns::Auto => resolver::of_system(),
            Dns::Servers(servers) => servers.clone(),
        };
        let own: Vec<_> = config.tun.own().map(|own: IpNet| own.addr()).collect();
        let (mut offered, mut places) = (Vec::new(), Vec::new());
        for version in [IpAddr::is_ipv4, IpAddr::is_ipv6] {
            let Some(at) = own.iter().find(|own| version(own)) else {
                continue;
            };
            let mut servers = servers.iter().filter(|server| version(server));
            match servers.next() {
                Some(server) if own.contains(server) => offered.push(*server),
                Some(server) if Resolvers::new(vec![*server], Vec::new()).is_some() => {
                    offered.push(*at);
                    places.push((*at, *server));
                }
                Some(_) | None => {}
            }
        }
        let resolvers = Resolvers::new(offered, config.search_domains.0.clone());
        Self {
            resolvers: resolvers.unwrap_or_default(),
            places,
        }
    }

    /// Names it in the log: without one, names of mobile hosts are asked beside the hop.
    pub(super) fn log(&self, dns: &Dns) {
        let list = |addresses: &mut dyn Iterator<Item = &IpAddr>| -> String {
            let addresses: Vec<_> = addresses.map(ToString::to_string).collect();
            addresses.join(", ")
        };
        let offered = list(&mut self.resolvers.servers().iter());
        let asked = list(&mut self.places.iter().map(|(_, to)| to));
        match (dns, offered.is_empty(), asked.is_empty()) {
            (Dns::None, ..) => {}
            (Dns::Auto, true, _) => tracing::warn!(
                "mobile hosts get no resolver, and may ask for names beside the hop: this gateway forwards nothing, \
                 has no `nft`, or has no DNS server that others can ask in /etc/resolv.conf; set \
                 `dns = [\"192.0.2.53\"]` with your server, or `dns = \"none\"`"
            ),
            (Dns::Servers(_), true, _) => tracing::warn!(
                "mobile hosts get no resolver: no server of `dns` has the IP version of an inner address"
            ),
            (Dns::Auto | Dns::Servers(_), false, true) => {
                tracing::info!("mobile hosts get this host's own resolver at {offered}");
            }
            (Dns::Auto | Dns::Servers(_), false, false) => tracing::info!(
                "mobile hosts get a resolver at {offered}: their questions go on to {asked}"
            ),
        }
    }
}
