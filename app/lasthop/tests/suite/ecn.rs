//! Congestion marks, with the kernel's TCP and real daemons in network namespaces.

use std::fs;

use edges::namespace::Namespace;
use serde_json::Value;

use crate::support::{Hosts, able, fetch, rule};

/// A hop that is far slower than the wire, so that what waits waits in the gateway.
const SLOW_LINK: &str = r#"
[each]
rate = "40 Mbit/s"
delay = "10 ms"
queue = "200 packets"
"#;

/// A counter of the kernel's TCP in a host, as nstat(8) names it.
fn counted(host: &Namespace, name: &str) -> u64 {
    let read = || fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
    let text = host.run(read).unwrap();
    let mut lines = text.lines();
    while let Some(names) = lines.next() {
        let values = lines.next().unwrap();
        let mut pairs = names.split_whitespace().zip(values.split_whitespace());
        if let Some((_, value)) = pairs.find(|(found, _)| *found == name) {
            return value.parse().unwrap();
        }
    }
    panic!("the kernel has no counter {name}");
}

fn ecn(hosts: &Hosts, part: &str) -> Value {
    hosts.peer(part)["hop"]["stats"].clone()
}

/// Both ends of TCP use marks.
fn understand_marks(hosts: &Hosts) {
    for host in [&hosts.mobile, &hosts.fixed] {
        rig::set(host, "net/ipv4/tcp_ecn", "1").unwrap();
    }
}

#[test]
fn tcp_that_understands_marks_gets_them_and_loses_nothing() {
    if !able() {
        return;
    }
    let hosts = Hosts::over_air(SLOW_LINK);
    understand_marks(&hosts);
    let [_gateway, _mobile] = hosts.start_both();
    fetch(&hosts, 24 << 20);
    let stats = ecn(&hosts, "gateway");
    let marked = stats["ecn"]["packets_marked"].as_u64().unwrap();
    let dropped = stats["sent"]["packets_dropped"].as_u64().unwrap();
    let heard = counted(&hosts.mobile, "InCEPkts");
    println!("{marked} marked, {dropped} dropped, {heard} heard");
    assert!(marked > 0 && heard > 0, "{stats}");
    assert_eq!(dropped, 0, "{stats}");
    let repeated = counted(&hosts.fixed, "TCPFastRetrans");
    assert_eq!(repeated, 0, "the fixed host has sent something again");
}

#[test]
fn frames_are_able_to_be_marked_where_marks_cross() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let [_gateway, _mobile] = hosts.start_both();
    fetch(&hosts, 8 << 20);
    for part in ["gateway", "mobile"] {
        let stats = ecn(&hosts, part);
        assert_eq!(stats["ecn"]["outwards"], "able", "{part}: {stats}");
        assert_eq!(stats["ecn"]["frames_marked"], 0, "{part}: {stats}");
    }
}

#[test]
fn a_path_that_clears_the_field_or_sets_it_on_everything_is_found_out() {
    if !able() {
        return;
    }
    for (which, field) in [("", "not-ect"), ("ip ecn != not-ect", "ce"), ("", "ce")] {
        let hosts = Hosts::create();
        rule(
            &hosts.mobile,
            &format!(
                "add table ip test; add chain ip test in {{ type filter hook prerouting priority -300; }}; \
                 add rule ip test in udp sport 51830 {which} ip ecn set {field}"
            ),
        );
        let [_gateway, _mobile] = hosts.start_both();
        fetch(&hosts, 8 << 20);
        let stats = ecn(&hosts, "gateway");
        assert_ne!(stats["ecn"]["outwards"], "able", "{field}: {stats}");
        assert_eq!(stats["ecn"]["frames_marked"], 0, "{field}: {stats}");
        let stats = ecn(&hosts, "mobile");
        assert_eq!(stats["ecn"]["outwards"], "able", "{field}: {stats}");
        let came = stats["ecn"]["frames_came_marked"].as_u64().unwrap();
        assert_eq!(came > 0, field == "ce", "{stats}");
        // Of one flight, and those beside it that repeat the first.
        let sets_all = which.is_empty();
        assert!(sets_all || came <= 30, "{came} frames came marked: {stats}");
    }
}
