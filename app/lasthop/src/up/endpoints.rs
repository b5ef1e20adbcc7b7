//! Addresses at which mobile hosts reach a gateway.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use edges::netlink::Netlink;

use crate::config::gateway::GatewayConfig;
use crate::config::values::Remote;
use crate::failure::Failure;

/// Most addresses in a join line.
const MOST: usize = 8;
/// Addresses for documentation (RFC 5737, RFC 3849), which stand for the Internet. Nothing is sent to them.
const INTERNET: [&str; 2] = ["192.0.2.1:9", "[2001:db8::1]:9"];

/// Returns the addresses for join lines: given ones, else those of the configuration, else those of this host.
pub(crate) fn of(config: &GatewayConfig, given: &[String]) -> Result<Vec<String>, Failure> {
    let port = config.listen().port();
    if !given.is_empty() {
        return with_port(given, port);
    }
    if !config.endpoints.is_empty() {
        let texts = config.endpoints.iter().map(|place| place.text().to_owned());
        return Ok(texts.collect());
    }
    let inner: Vec<_> = config.tun.own().map(|own| own.addr()).collect();
    let places = own_addresses()?;
    let places: Vec<_> = places
        .into_iter()
        .filter(|address| !inner.contains(address))
        .map(|address| SocketAddr::new(address, port).to_string())
        .take(MOST)
        .collect();
    if places.is_empty() {
        let what = "this host has no address at which mobile hosts could reach it; connect it to a network, or give \
                    its address with --endpoint HOST";
        return Err(Failure::setting(what));
    }
    Ok(places)
}

/// Returns the given hosts, each with a port.
pub(super) fn with_port(given: &[String], port: u16) -> Result<Vec<String>, Failure> {
    let complete = |text: &String| {
        let text = match text.parse::<IpAddr>() {
            Ok(address) => SocketAddr::new(address, port).to_string(),
            Err(_) if Remote::read(text).is_ok() => text.clone(),
            Err(_) => format!("{text}:{port}"),
        };
        let is_sound = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_%".contains(&byte));
        match Remote::read(&text) {
            Ok(_) if is_sound => Ok(text),
            _ => Err(Failure::setting(format!(
                "'{text}' is not a host with a port; write it like 'gw.example.org' or '[2001:db8::1]:51830'"
            ))),
        }
    };
    given.iter().take(MOST).map(complete).collect()
}

/// Returns the addresses of this host: first those towards the Internet.
fn own_addresses() -> Result<Vec<IpAddr>, Failure> {
    let mut addresses: Vec<IpAddr> = INTERNET.iter().filter_map(|to| towards(to)).collect();
    let mut netlink = Netlink::open().map_err(Failure::broken)?;
    for link in netlink.links().map_err(Failure::broken)? {
        for own in netlink.addresses(&link.name).unwrap_or_default() {
            let address = own.addr();
            if is_reachable(&address) && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    Ok(addresses)
}

/// Returns the source address of datagrams to this address.
fn towards(to: &str) -> Option<IpAddr> {
    let to: SocketAddr = to.parse().ok()?;
    let own: SocketAddr = match to {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(own).ok()?;
    socket.connect(to).ok()?;
    let address = socket.local_addr().ok()?.ip();
    is_reachable(&address).then_some(address)
}

fn is_reachable(address: &IpAddr) -> bool {
    let is_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !is_local && !address.is_loopback() && !address.is_unspecified()
}

/// Writes what to do if mobile hosts reach none of these addresses from the Internet.
pub(super) fn warn_if_private(places: &[String]) {
    let is_private = |place: &String| match place.parse::<SocketAddr>().map(|place| place.ip()) {
        Ok(IpAddr::V4(address)) => address.is_private() || is_shared(address.octets()),
        Ok(IpAddr::V6(address)) => address.is_unique_local(),
        Err(_) => false,
    };
    if places.iter().all(is_private) {
        eprintln!(
            "All addresses of this host are private ({}), so mobile hosts reach it from the same network only. For \
             others: forward UDP port 51830 (and TCP port 443) of your router to this host, and run \
             `lasthop invite --endpoint NAME-OF-THE-ROUTER`.",
            places.join(", ")
        );
    }
}

/// Returns true for addresses of carriers behind their NAT (RFC 6598).
fn is_shared(octets: [u8; 4]) -> bool {
    octets[0] == 100 && octets[1] & 0xc0 == 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_get_the_port_that_they_lack() {
        let given = [
            "gw.example.org",
            "192.0.2.7",
            "2001:db8::7",
            "gw.example.org:7",
            "[2001:db8::7]:7",
        ];
        let given: Vec<_> = given.map(String::from).into();
        let complete = with_port(&given, 51_830).expect("valid");
        let expected = [
            "gw.example.org:51830",
            "192.0.2.7:51830",
            "[2001:db8::7]:51830",
            "gw.example.org:7",
            "[2001:db8::7]:7",
        ];
        assert_eq!(complete, expected);
        for wrong in ["", "a b", "gw:0", "x\"y", "gw:99999"] {
            assert!(with_port(&[wrong.into()], 1).is_err(), "{wrong}");
        }
    }
}
