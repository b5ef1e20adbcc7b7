//! Inner addresses of other gateways' mobile hosts whose packets leave at this gateway.

use edges::nameserver::{PRIVATE_IPV4, PRIVATE_IPV6};
use edges::netlink::{MAIN_TABLE, Netlink, Route};
use ipnet::IpNet;

use super::gateway_wiring::Wiring;
use crate::clash;
use crate::config::follow::Follow;
use crate::failure::Failure;

/// What decides which inner addresses may leave.
pub(super) struct Terms<'a> {
    /// Link to the mobile hosts.
    link: &'a str,
    /// True for IPv4, and for IPv6, if there are inner addresses of this gateway of that version.
    versions: (bool, bool),
    /// Addresses that follow mobile hosts, if any do.
    follow: Option<&'a Follow>,
    routes: Vec<Route>,
}

impl<'a> Terms<'a> {
    /// Returns the terms of this host with its present routes.
    pub(super) fn of(link: &'a str, wiring: &'a Wiring) -> Result<Self, Failure> {
        let mut netlink = Netlink::open().map_err(Failure::broken)?;
        let routes = netlink.routes(MAIN_TABLE).map_err(Failure::broken)?;
        Ok(Self {
            link,
            versions: wiring.versions(),
            follow: wiring.follow(),
            routes,
        })
    }

    /// Refuses inner addresses that are neither private nor may follow a mobile host, that another network of this host
    /// has, or of a version of IP that its own mobile hosts do not have.
    pub(super) fn check(&self, network: &IpNet) -> Result<(), Failure> {
        let (has_ipv4, has_ipv6) = self.versions;
        let is_of_version = match network {
            IpNet::V4(_) => has_ipv4,
            IpNet::V6(_) => has_ipv6,
        };
        if !is_of_version {
            return Err(Failure::setting(
                "this gateway has no inner addresses of that version of IP",
            ));
        }
        let is_wrong = match self.follow {
            Some(follow) => {
                (!follow.contains(network)).then_some("`networks` of [follow] has not all of it")
            }
            None => (!is_private(network)).then_some("that is no private network"),
        };
        if let Some(what) = is_wrong {
            return Err(Failure::setting(what));
        }
        let lan = self.follow.and_then(|follow| follow.lan.as_deref());
        let has = |route: &&Route| {
            let other = &route.destination;
            let is_elsewhere = route.link.as_deref() != Some(self.link);
            // On the LAN they are addresses among others.
            let is_of_lan =
                lan.is_some() && route.link.as_deref() == lan && other.contains(network);
            is_elsewhere && !is_of_lan && other.prefix_len() > 0 && clash::overlap(network, other)
        };
        match self.routes.iter().find(has) {
            Some(route) => Err(Failure::setting(clash::words(route))),
            None => Ok(()),
        }
    }
}

/// Returns true if all of a network is private.
fn is_private(network: &IpNet) -> bool {
    let known = PRIVATE_IPV4.iter().chain(&PRIVATE_IPV6);
    let mut known = known.filter_map(|text| text.parse::<IpNet>().ok());
    known.any(|private| private.contains(network))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_network_is_private_or_it_is_refused() {
        let is_private = |text: &str| is_private(&text.parse().expect("a network"));
        for network in [
            "10.73.0.2/32",
            "172.31.0.0/16",
            "192.168.0.0/16",
            "fd12::1/128",
        ] {
            assert!(is_private(network), "{network}");
        }
        for network in [
            "172.16.0.0/9",
            "10.0.0.0/7",
            "169.254.169.254/32",
            "127.0.0.1/32",
            "192.0.2.1/32",
            "2001:db8::1/128",
            "fe80::1/128",
        ] {
            assert!(!is_private(network), "{network}");
        }
    }
}
