//! Inner addresses of a new gateway.

use std::net::{Ipv4Addr, Ipv6Addr};

use edges::netlink::{MAIN_TABLE, Netlink};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::clash::overlap;
use crate::entropy;
use crate::failure::Failure;

/// Bits of the inner networks: room for 4,093 mobile hosts.
const IPV4_LENGTH: u8 = 20;
const IPV6_LENGTH: u8 = 64;
/// Number of networks that are tried.
const TRIES: usize = 1_000;

/// Returns a new gateway's address and network for each IP version. They overlap with no address and no route of this
/// host, and with none of the networks in `taken`.
pub(crate) fn choose(taken: &[IpNet]) -> Result<Vec<IpNet>, Failure> {
    let mut known = known()?;
    known.extend(taken);
    let clashes = |network: &IpNet| known.iter().any(|other| overlap(network, other));
    let mut tries = (0..TRIES).map(|_| {
        let mut bytes = [0; 2];
        entropy::fill(&mut bytes);
        ipv4(bytes)
    });
    let ipv4 = tries.find(|network| !clashes(network)).ok_or_else(|| {
        Failure::setting(
            "no free network was found in 10.64.0.0/10: the routes of this host cover it; write a configuration with \
             other inner addresses (app/lasthop/examples/gateway.toml), and start it with \
             `lasthop gateway --config FILE`",
        )
    })?;
    // Unique by chance (RFC 4193 §3.2.2), so there is nothing to compare.
    let mut bytes = [0; 7];
    entropy::fill(&mut bytes);
    Ok(vec![ipv4, ipv6(bytes)])
}

/// Returns the first network of this host, by an address or a route of its own, that overlaps with one of these.
pub(super) fn clash(inner: &[IpNet]) -> Result<Option<IpNet>, Failure> {
    let known = known()?.into_iter();
    let mut clashes = known.filter(|known| inner.iter().any(|inner| overlap(inner, known)));
    Ok(clashes.next())
}

/// Returns the networks of this host's addresses and routes, but for default routes.
fn known() -> Result<Vec<IpNet>, Failure> {
    let mut netlink = Netlink::open().map_err(Failure::broken)?;
    let routes = netlink.routes(MAIN_TABLE).map_err(Failure::broken)?;
    let routes = routes.into_iter().map(|route| route.destination);
    let mut known: Vec<_> = routes.filter(|network| network.prefix_len() > 0).collect();
    for link in netlink.links().map_err(Failure::broken)? {
        known.extend(netlink.addresses(&link.name).unwrap_or_default());
    }
    Ok(known)
}

/// Returns the first address of a network in 10.64.0.0/10, which few home and office networks use.
fn ipv4(random: [u8; 2]) -> IpNet {
    let address = Ipv4Addr::new(10, 64 | random[0] & 63, random[1] & 0xf0, 1);
    Ipv4Net::new_assert(address, IPV4_LENGTH).into()
}

/// Returns the first address of a unique local network (RFC 4193).
fn ipv6(random: [u8; 7]) -> IpNet {
    let mut octets = [0; 16];
    octets[0] = 0xfd;
    octets[1..8].copy_from_slice(&random);
    octets[15] = 1;
    Ipv6Net::new_assert(Ipv6Addr::from(octets), IPV6_LENGTH).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_private_and_have_room() {
        for random in [[0; 2], [0xff; 2], [0x5a, 0xa5]] {
            let IpNet::V4(network) = ipv4(random) else {
                panic!("IPv4");
            };
            assert!(network.addr().is_private() && network.addr().octets()[1] >= 64);
            assert!(network.addr().octets()[1] < 128, "{network}");
            assert_eq!(network.hosts().next(), Some(network.addr()));
            assert!(network.hosts().count() > 4_000);
        }
        for random in [[0; 7], [0xff; 7]] {
            let IpNet::V6(network) = ipv6(random) else {
                panic!("IPv6");
            };
            assert!(network.addr().is_unique_local());
        }
    }
}
