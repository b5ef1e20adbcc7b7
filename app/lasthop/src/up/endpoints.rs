//! Addresses at which mobile hosts reach a gateway.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use edges::netlink::Netlink;
use wire::ip::scope;

use crate::config::carrier::MOST_ENDPOINTS;
use crate::config::gateway::GatewayConfig;
use crate::config::values::Remote;
use crate::failure::Failure;

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
        let places: Vec<_> = texts.collect();
        check(&places)?;
        return Ok(places);
    }
    let inner: Vec<_> = config.tun.own().map(|own| own.addr()).collect();
    let places = own_addresses()?;
    let places: Vec<_> = places
        .into_iter()
        .filter(|address| !inner.contains(address))
        .map(|address| SocketAddr::new(address, port).to_string())
        .take(MOST_ENDPOINTS)
        .collect();
    if places.is_empty() {
        let what = "this host has no address at which others could reach it; connect it to a network, or give \
                    its address with --endpoint HOST";
        return Err(Failure::setting(what));
    }
    Ok(places)
}

/// Refuses what a join line cannot hold, or holds in vain.
fn check(places: &[String]) -> Result<(), Failure> {
    let most = MOST_ENDPOINTS;
    if places.len() > most {
        return Err(Failure::setting(format!(
            "{} addresses are too many; a join line holds at most {most}: the best ones, the best first",
            places.len()
        )));
    }
    // Names of hosts have no case (RFC 4343).
    let mut known = BTreeSet::new();
    match places
        .iter()
        .find(|place| !known.insert(place.to_ascii_lowercase()))
    {
        Some(twice) => Err(Failure::setting(format!(
            "the address '{twice}' is given twice; give each once, the best first"
        ))),
        None => Ok(()),
    }
}

/// Returns the given hosts, each with a port.
pub(crate) fn with_port(given: &[String], port: u16) -> Result<Vec<String>, Failure> {
    let complete = |text: &String| {
        let text = match text.parse::<IpAddr>() {
            Ok(address) => SocketAddr::new(address, port).to_string(),
            Err(_) if Remote::read(text).is_ok() => text.clone(),
            Err(_) => format!("{text}:{port}"),
        };
        match Remote::read(&text) {
            Ok(_) => Ok(text),
            Err(_) => Err(Failure::setting(format!(
                "'{text}' is not a host with a port; write it like 'gw.example.org' or '[2001:db8::1]:51830'"
            ))),
        }
    };
    let places = given.iter().map(complete).collect::<Result<Vec<_>, _>>()?;
    check(&places)?;
    Ok(places)
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
    !scope::is_link_local(*address) && !address.is_loopback() && !address.is_unspecified()
}

/// Writes what to do if mobile hosts reach none of these addresses from the Internet.
pub(super) fn warn_if_private(places: &[String]) {
    let is_private = |place: &String| {
        let place = place.parse::<SocketAddr>().map(|place| place.ip());
        place.is_ok_and(|address| scope::is_private(address) || scope::is_shared(address))
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
        for wrong in [
            "",
            "a b",
            "gw:0",
            "x\"y",
            "gw:99999",
            "192.0.2.300",
            "gw..org",
            "-gw",
            "[fd73]:7",
            "[fd73::1]]:7",
        ] {
            assert!(with_port(&[wrong.into()], 1).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_line_holds_eight_different_ones() {
        let names = |count| {
            (0..count)
                .map(|number| format!("gw{number}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(with_port(&names(8), 1).map(|all| all.len()).ok(), Some(8));
        let complaint = |given: &[String]| {
            let failure = with_port(given, 1).expect_err("refused");
            failure.to_string()
        };
        let many = complaint(&names(9));
        assert!(many.contains("9 addresses are too many"), "{many}");
        let twice = complaint(&["gw".into(), "gw:1".into()]);
        assert!(twice.contains("'gw:1' is given twice"), "{twice}");
    }
}
