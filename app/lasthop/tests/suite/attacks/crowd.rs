//! A gateway with many mobile hosts in its configuration.

use std::fmt::Write;
use std::fs;
use std::time::Duration;

use machine::RandomStream;
use session::PublicKey;
use units::Bytes;

use crate::support::{Hosts, able, fetch};

const PEERS: u16 = 4_000;
const BYTES: usize = 8 << 20;

/// Returns the processor time that the gateway takes for a transfer.
fn cost(hosts: &Hosts) -> (Duration, Bytes) {
    let gateway = hosts.start("gateway");
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    fetch(hosts, 1 << 20);
    let before = gateway.processor_time();
    fetch(hosts, BYTES);
    let cost = gateway.processor_time().saturating_sub(before);
    let memory = Bytes::new(gateway.memory("VmHWM"));
    assert!(mobile.terminate().success() && gateway.terminate().success());
    (cost, memory)
}

#[test]
fn four_thousand_mobile_hosts_in_its_configuration_cost_a_gateway_little() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let (alone, _) = cost(&hosts);
    let file = hosts.folder.path().join("gateway.toml");
    let mut text = fs::read_to_string(&file).unwrap();
    let mut random = RandomStream::named(1, "a crowd");
    for number in 0..PEERS {
        let mut key = [0; 32];
        random.fill(&mut key);
        let (key, [high, low]) = (PublicKey::from_bytes(key), number.to_be_bytes());
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[[peers]]\nname = \"m{number}\"\npublic_key = \"{key}\"\naddresses = [\"10.80.{high}.{low}\"]\n"
        );
    }
    fs::write(&file, text).unwrap();
    let (among, memory) = cost(&hosts);
    println!("{alone:?} alone, {among:?} among {PEERS}; {memory}");
    let log = hosts.log("gateway");
    let said = log.rsplit("takes at most ").next().unwrap();
    let most: Bytes = said.split(" of memory").next().unwrap().parse().unwrap();
    assert!(most <= Bytes::mebi(1_024), "{most}");
    assert!(memory <= most, "{memory} of {most}");
    // It was six times as much; a clock tick is ten milliseconds. With debug assertions a gateway examines each peer.
    let is_little = among <= alone * 3 + Duration::from_millis(50);
    assert!(
        is_little || cfg!(debug_assertions),
        "{among:?} for {alone:?}"
    );
}
