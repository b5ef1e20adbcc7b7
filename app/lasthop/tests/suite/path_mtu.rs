//! Two real daemons over paths that carry less than Ethernet: downloads work, and each end says what it found.

use edges::namespace::Namespace;
use edges::netlink::Netlink;

use crate::support::{Hosts, able, fetch};

/// A fast hop that swallows packets of more than 1,492 bytes without a word.
const SILENT_HOP: &str =
    "[each]\nrate = \"50 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"200 packets\"\nmtu = 1492\n";

fn set_mtu(host: &Namespace, name: &str, bytes: u32) {
    let set = || Netlink::open().unwrap().set_mtu(name, bytes).unwrap();
    host.run(set).unwrap();
}

/// The path MTU that an end has found from there.
fn found(hosts: &Hosts, part: &str) -> Option<u64> {
    let hop = &hosts.peer(part)["hop"];
    hop["path_mtu_bytes"].as_u64()
}

/// Loads something, and waits until the gateway has found that.
fn download(hosts: &Hosts, expected: u64) {
    fetch(hosts, 4 << 20);
    hosts.wait_until(&format!("a path MTU of {expected}"), || {
        fetch(hosts, 2 << 20);
        found(hosts, "gateway") == Some(expected)
    });
    fetch(hosts, 4 << 20);
}

#[test]
fn a_silent_router_in_the_middle_is_found_out() {
    if !able() {
        return;
    }
    let hosts = Hosts::over_air(SILENT_HOP);
    let _daemons = hosts.start_both();
    download(&hosts, 1_492);
}

#[test]
fn an_interface_that_carries_less_is_used_as_it_is() {
    if !able() {
        return;
    }
    for (bytes, expected) in [(1_460, 1_460), (1_400, 1_400)] {
        let hosts = Hosts::create();
        for host in [&hosts.gateway, &hosts.mobile] {
            set_mtu(host, "air", bytes);
        }
        let _daemons = hosts.start_both();
        download(&hosts, expected);
    }
}

#[test]
fn jumbo_frames_are_used_where_they_pass() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    for host in [&hosts.gateway, &hosts.mobile] {
        set_mtu(host, "air", 9_000);
    }
    let _daemons = hosts.start_both();
    download(&hosts, 9_000);
}

#[test]
fn a_path_that_comes_to_carry_less_is_followed() {
    if !able() {
        return;
    }
    let hosts = Hosts::over_air(&format!(
        "{SILENT_HOP}schedule = [{{ at = \"4 s\", mtu = 1400 }}]\n"
    ));
    let [_gateway, _mobile] = hosts.start_both();
    hosts.wait_until("a path MTU of 1400", || {
        fetch(&hosts, 1 << 20);
        found(&hosts, "gateway") == Some(1_400)
    });
}
