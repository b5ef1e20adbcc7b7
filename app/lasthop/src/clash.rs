//! Networks of this host that clash with the inner addresses of the hop.

use edges::netlink::Route;
use ipnet::IpNet;

/// Returns the first route of the main table, but those by `inner_link`, that leads a part of the inner networks
/// elsewhere: it is as narrow as one of them, or narrower.
pub(crate) fn find<'a>(routes: &'a [Route], own: &[IpNet], inner_link: &str) -> Option<&'a Route> {
    let is_within = |route: &IpNet| own.iter().any(|own| own.trunc().contains(route));
    routes.iter().find(|route| {
        route.link.as_deref() != Some(inner_link)
            && route.destination.prefix_len() > 0
            && is_within(&route.destination)
    })
}

/// Returns true if two networks have an address in common.
pub(crate) fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(other) || other.contains(one)
}

/// Returns the clash in words.
pub(crate) fn words(route: &Route) -> String {
    let network = route.destination;
    let link = route.link.as_deref().unwrap_or("another way");
    format!(
        "{network} belongs to the inner addresses of the hop, and this host reaches it by {link}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().expect("a network")
    }

    #[test]
    fn only_routes_that_are_as_narrow_clash() {
        let own = [net("10.73.0.2/24"), net("fd73::2/64")];
        let clashes = |route: &str, link: &str| {
            let routes = [Route::to(net(route)).through(link)];
            find(&routes, &own, "lasthop0").is_some()
        };
        for clash in [
            "10.73.0.0/24",
            "10.73.0.128/25",
            "10.73.0.7/32",
            "fd73::/64",
        ] {
            assert!(clashes(clash, "wlan0"), "{clash}");
            assert!(!clashes(clash, "lasthop0"), "{clash}");
        }
        for other in ["0.0.0.0/0", "10.0.0.0/8", "10.74.0.0/24", "fd74::/64"] {
            assert!(!clashes(other, "wlan0"), "{other}");
        }
    }

    #[test]
    fn an_overlap_is_seen_from_both_sides() {
        assert!(overlap(&net("10.0.0.0/8"), &net("10.80.0.1/20")));
        assert!(overlap(&net("10.80.0.1/20"), &net("10.80.3.0/24")));
        assert!(!overlap(&net("10.80.0.1/20"), &net("10.80.16.0/24")));
    }
}
