//! A hop on which frames overtake each other.

use std::fs;

use crate::support::{Hosts, able, fetch};

const LINK: &str = r#"
[each]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "400 packets"
jitter = { model = "uniform", most = "20 ms" }
faults = { overtaking = true }
"#;
const BYTES: usize = 1_500_000;

/// Bytes that are sent for each of payload, at most: once snoop and split took 1.6 to 1.7 here.
const MOST: f64 = 1.5;

/// Returns the bytes that the gateway has sent on the hop.
fn sent(hosts: &Hosts) -> u64 {
    let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let text = hosts.gateway.run(read).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("air:"));
    // Eight fields of what was received stand before.
    let field = line.unwrap().split_whitespace().nth(8).unwrap();
    field.parse().unwrap()
}

#[test]
fn jitter_costs_no_needless_repairs() {
    if !able() {
        return;
    }
    for way in ["tcp = \"arq\"", "tcp = \"snoop\"", "tcp = \"split\""] {
        let hosts = Hosts::over_air(LINK);
        hosts.configure_more("gateway", "public_key", way);
        let _daemons = hosts.start_both();
        let before = sent(&hosts);
        fetch(&hosts, BYTES);
        let ratio = (sent(&hosts) - before) as f64 / BYTES as f64;
        println!("{way}: {ratio:.3} bytes for each of payload");
        assert!(ratio > 1.0 && ratio < MOST, "{way}: {ratio}");
    }
}
