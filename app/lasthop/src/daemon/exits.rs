//! Inner addresses of other gateways' mobile hosts whose packets leave at this gateway.

use edges::netlink::{MAIN_TABLE, Netlink, Route};
use ipnet::IpNet;

use crate::clash;
use crate::failure::Failure;

/// Private networks (RFC 1918, RFC 4193).
const PRIVATE: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/// Refuses inner addresses that are not private, that another network of this host has than that of `link`, or of an IP
/// version that its own inner addresses do not have: IPv4 and IPv6 are the values of `versions`.
pub(super) fn free(
    network: &IpNet,
    link: &str,
    versions: Option<(bool, bool)>,
) -> Result<(), Failure> {
    let (has_ipv4, has_ipv6) = versions.unwrap_or_default();
    let is_ipv4 = network.addr().is_ipv4();
    if (is_ipv4 && !has_ipv4) || (!is_ipv4 && !has_ipv6) {
        return Err(Failure::setting(
            "this gateway has no inner addresses of that version of IP",
        ));
    }
    if !is_private(network) {
        return Err(Failure::setting("that is no private network"));
    }
    let mut netlink = Netlink::open().map_err(Failure::broken)?;
    let routes = netlink.routes(MAIN_TABLE).map_err(Failure::broken)?;
    let has = |route: &&Route| {
        let (other, length) = (&route.destination, route.destination.prefix_len());
        let overlaps = network.contains(other) || other.contains(network);
        route.link.as_deref() != Some(link) && length > 0 && overlaps
    };
    match routes.iter().find(has) {
        Some(route) => Err(Failure::setting(clash::words(route))),
        None => Ok(()),
    }
}

/// Returns true if all of a network is private.
fn is_private(network: &IpNet) -> bool {
    let mut known = PRIVATE.iter().filter_map(|text| text.parse::<IpNet>().ok());
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
