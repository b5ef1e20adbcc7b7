//! A download that goes on, in its connection, while its hosts change their places or restart.

use std::fs;

use edges::netlink::{Netlink, Route};
use rig::End;

use crate::dns::{Files, Mobile};
use crate::support::download::Download;
use crate::support::{Hosts, able, rule};

/// Addresses of the gateway for the mobile host, beside that on the link "air".
const SECOND: &str = "10.2.0.1";
const THIRD: &str = "fd77::1";

fn endpoint(hosts: &Hosts, part: &str) -> String {
    let endpoint = hosts.peer(part)["endpoint"].clone();
    endpoint.as_str().unwrap_or_default().into()
}

/// Replaces the endpoints of the mobile host.
fn set_endpoints(hosts: &Hosts, endpoints: &[&str]) {
    let file = hosts.folder.path().join("mobile.toml");
    let old = fs::read_to_string(&file).unwrap();
    let new = old.replace("\"10.1.0.1:51830\"", &format!("{endpoints:?}"));
    assert_ne!(old, new);
    fs::write(file, new).unwrap();
}

/// Joins the hosts by a second cable, with addresses of both versions.
fn add_link(hosts: &Hosts) {
    let (near, far) = (format!("{SECOND}/24"), "10.2.0.2/24");
    let ends = [
        End::new(&hosts.gateway, "air2", &near),
        End::new(&hosts.mobile, "air2", far),
    ];
    rig::join(ends).unwrap();
    for (host, address) in [(&hosts.gateway, THIRD), (&hosts.mobile, "fd77::2")] {
        let add = || {
            let address = format!("{address}/64").parse().unwrap();
            let mut netlink = Netlink::open().unwrap();
            netlink.add_address("air2", address).unwrap();
        };
        host.run(add).unwrap();
    }
}

/// Drops or rejects the datagrams for one address of the gateway, and drops those from there.
fn block(hosts: &Hosts, address: &str, verdict: &str) {
    let version = if address.contains(':') { "ip6" } else { "ip" };
    let table = table(address);
    for (host, what) in [
        (
            &hosts.gateway,
            format!("daddr {address} meta l4proto udp {verdict}"),
        ),
        (
            &hosts.mobile,
            format!("saddr {address} meta l4proto udp drop"),
        ),
    ] {
        rule(
            host,
            &format!(
                "table inet {table} {{ chain input {{ type filter hook input priority 0; {version} {what}; }}; }}"
            ),
        );
    }
}

fn unblock(hosts: &Hosts, address: &str) {
    for host in [&hosts.gateway, &hosts.mobile] {
        rule(host, &format!("delete table inet {}", table(address)));
    }
}

fn table(address: &str) -> String {
    format!("block_{}", address.replace(['.', ':'], "_"))
}

/// All of them lead to one gateway, with one key: a name that does not resolve, two addresses, and one of IPv6.
#[test]
fn of_several_endpoints_those_that_fail_are_left_and_named() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    add_link(&hosts);
    let [first, second, third] =
        ["10.1.0.1:51830", "10.2.0.1:51830", "[fd77::1]:51830"].map(String::from);
    set_endpoints(&hosts, &["nowhere.invalid:51830", &first, &second, &third]);
    let [_gateway, _mobile] = hosts.start_both();
    assert_eq!(endpoint(&hosts, "mobile"), first);
    let log = hosts.log("mobile");
    assert!(
        log.contains("cannot find the gateway 'nowhere.invalid:51830'"),
        "{log}"
    );
    let goes_to = |to: &str| hosts.wait_until(to, || endpoint(&hosts, "mobile") == to);
    let state = |at: &str| {
        let others = hosts.peer("mobile")["others"].clone();
        let mut others = others.as_array().into_iter().flatten();
        let other = others.find(|other| other["at"] == at);
        other.map(|other| other["state"].as_str().unwrap_or_default().to_owned())
    };
    Download::during(&hosts, |download| {
        // One that is silent, and then one that is refused.
        block(&hosts, "10.1.0.1", "drop");
        block(&hosts, THIRD, "drop");
        goes_to(&second);
        download.goes_on();
        assert_eq!(state(&first).as_deref(), Some("silent"));
        unblock(&hosts, THIRD);
        block(&hosts, SECOND, "reject");
        goes_to(&third);
        download.goes_on();
        assert_eq!(state(&second).as_deref(), Some("refused"));
    });
    let (_, page) = hosts.status_page(&["--name", "mobile", "--peer", "gateway"]);
    assert!(
        page.contains(&format!("{second}: no process listens")),
        "{page}"
    );
}

fn default_route() -> Route {
    Route::to("0.0.0.0/0".parse().unwrap()).via("10.1.0.1".parse().unwrap())
}

#[test]
fn the_address_and_then_the_interface_of_the_mobile_host_change() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let [_gateway, _mobile] = hosts.start_both();
    let arrives_from = |from: &str| {
        let is_there = || endpoint(&hosts, "gateway").starts_with(from);
        hosts.wait_until(from, is_there);
    };
    Download::during(&hosts, |download| {
        for (old, new) in [(2, 77), (77, 78), (78, 2)] {
            let change = || {
                let address = |last: u8| format!("10.1.0.{last}/24").parse().unwrap();
                let mut netlink = Netlink::open().unwrap();
                netlink.remove_address("air", address(old)).unwrap();
                netlink.add_address("air", address(new)).unwrap();
                // It went with its only source address.
                netlink.add_route(&default_route()).unwrap();
            };
            hosts.mobile.run(change).unwrap();
            arrives_from(&format!("10.1.0.{new}:"));
            download.goes_on();
        }
        add_link(&hosts);
        let change = || {
            let mut netlink = Netlink::open().unwrap();
            netlink.set_down("air").unwrap();
            let route = Route::to("0.0.0.0/0".parse().unwrap()).via(SECOND.parse().unwrap());
            netlink.add_route(&route).unwrap();
        };
        hosts.mobile.run(change).unwrap();
        arrives_from("10.2.0.2:");
        download.goes_on();
    });
}

/// A translator between the two hosts, without state of its own, that gives the mobile host this port.
fn translate(hosts: &Hosts, port: &str, to: u16) {
    rule(
        &hosts.mobile,
        &format!(
            "table ip translator {{}}; flush table ip translator; table ip translator {{ \
             chain out {{ type filter hook postrouting priority 300; \
             oifname \"air\" udp dport 51830 udp sport set {to}; }}; \
             chain in {{ type filter hook prerouting priority -400; \
             iifname \"air\" udp sport 51830 udp dport {to} udp dport set {port}; }}; }}"
        ),
    );
}

#[test]
fn the_binding_of_a_translator_changes() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let [_gateway, _mobile] = hosts.start_both();
    let known = endpoint(&hosts, "gateway");
    let (_, port) = known.rsplit_once(':').unwrap();
    Download::during(&hosts, |download| {
        for to in [40_001, 40_002, 40_003] {
            translate(&hosts, port, to);
            let expected = format!("10.1.0.2:{to}");
            hosts.wait_until(&expected, || endpoint(&hosts, "gateway") == expected);
            download.goes_on();
        }
    });
}

/// Packets of the connection come at any time, also before the first rules that need the state of connections.
#[test]
fn the_gateway_is_killed_and_starts_again() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let [gateway, _mobile] = hosts.start_both();
    let mut running = Some(gateway);
    Download::during(&hosts, |download| {
        for _ in 0..4 {
            running.take().unwrap().kill();
            running = Some(hosts.start("gateway"));
            download.goes_on();
        }
    });
    let log = hosts.log("gateway");
    assert!(
        log.contains("1 TCP connections of mobile hosts go on"),
        "{log}"
    );
}

#[test]
fn the_name_of_the_gateway_resolves_elsewhere() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    add_link(&hosts);
    set_endpoints(&hosts, &["gateway.example:51830"]);
    let mobile = Mobile::with(&hosts, Files::Plain);
    let names = hosts.folder.path().join("etc/hosts");
    fs::write(&names, "10.1.0.1 gateway.example\n").unwrap();
    let _daemons = [hosts.start("gateway"), mobile.start()];
    hosts.wait_until_connected();
    assert_eq!(endpoint(&hosts, "mobile"), "10.1.0.1:51830");
    Download::during(&hosts, |download| {
        fs::write(&names, "10.2.0.1 gateway.example\n").unwrap();
        block(&hosts, "10.1.0.1", "drop");
        let is_there = || endpoint(&hosts, "mobile") == "10.2.0.1:51830";
        hosts.wait_until("the new address is in use", is_there);
        download.goes_on();
    });
}
