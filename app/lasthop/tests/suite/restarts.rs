//! Gateways that come back without their state.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use edges::sysctl;

use crate::support::{FIXED_HOST, Hosts, able, connect};

/// The address translation forgets a connection one second after its last packet, as a host does that has restarted.
const FORGETFUL: &str = "net.netfilter.nf_conntrack_tcp_timeout_established";

#[test]
fn a_connection_that_only_receives_ends_when_its_gateway_has_lost_it() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let [gateway, mobile] = hosts.start_both();
    let forget = || sysctl::set(FORGETFUL, "1").unwrap();
    hosts.gateway.run(forget).unwrap();
    let (mut client, mut server) = connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap();
    let sending = std::thread::spawn(move || {
        while server.write_all(b"more").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    client.read_exact(&mut [0; 40]).unwrap();
    gateway.kill();
    sending.join().unwrap();
    let gateway = hosts.start("gateway");
    let mut rest = Vec::new();
    let end = client.read_to_end(&mut rest).unwrap_err();
    assert_eq!(end.kind(), ErrorKind::ConnectionReset, "{}", hosts.logs());
    mobile.terminate();
    gateway.terminate();
}
