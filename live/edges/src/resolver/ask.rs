//! Which servers programs of this host ask.

use std::net::IpAddr;
use std::path::Path;

use super::conf::{self, RESOLV_CONF};
use crate::netlink::Netlink;

/// Servers of systemd-resolved, by all links, which programs ask through its own address.
const UPLINKS: &str = "/run/systemd/resolve/resolv.conf";

/// Returns the servers of this host as they are without the hop, except those on this host itself, which only ask
/// others.
pub fn of_system() -> Vec<IpAddr> {
    let text = conf::read(Path::new(RESOLV_CONF)).unwrap_or_default();
    servers(&conf::former_in(&text).unwrap_or(text))
}

/// Returns the servers that programs ask now by another link than `link`, and so beside the hop. One that systemd's
/// resolver asks counts, unless `is_led` says that it leads names across the hop.
pub fn beside(link: &str, is_led: bool) -> Vec<IpAddr> {
    let text = conf::read(Path::new(RESOLV_CONF)).unwrap_or_default();
    let asks_itself = conf::servers_in(&text).all(|server| server.is_loopback());
    let mut servers = servers(&text);
    let Some(mut netlink) = Netlink::open().ok().filter(|_| !(is_led && asks_itself)) else {
        return Vec::new();
    };
    servers.retain(|server| {
        let route = netlink.route_to(*server);
        route.is_ok_and(|route| route.link.is_some_and(|way| way != link))
    });
    servers
}

/// Returns the servers in a text of resolv.conf(5); if all are on this host, those that systemd's resolver asks.
fn servers(text: &str) -> Vec<IpAddr> {
    let others = |text: &str| -> Vec<IpAddr> {
        conf::servers_in(text)
            .filter(|server| !server.is_loopback())
            .collect()
    };
    match others(text) {
        found if found.is_empty() => others(&conf::read(Path::new(UPLINKS)).unwrap_or_default()),
        found => found,
    }
}
