//! Gateways that come back without their state.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use edges::sysctl;

use crate::support::{FIXED_HOST, Hosts, LONG, able, connect};

/// The address translation forgets a connection one second after its last packet, as a host does that has restarted.
const FORGETFUL: &str = "net/netfilter/nf_conntrack_tcp_timeout_established";

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

/// Returns the time until a request to the fixed host is answered that is sent from now on.
fn stall(client: &UdpSocket, server: SocketAddr) -> Duration {
    let begun = Instant::now();
    for number in 1_u64.. {
        assert!(begun.elapsed() < LONG, "no request is answered");
        let _ = client.send_to(&number.to_be_bytes(), server);
        let mut answer = [0; 8];
        if let Ok(8) = client.recv(&mut answer)
            && u64::from_be_bytes(answer) > 0
        {
            break;
        }
    }
    begun.elapsed()
}

/// A mobile host that sends finds its restarted gateway soon; the best of three times counts on a busy machine.
#[test]
fn a_restarted_gateway_serves_soon() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let [mut gateway, _mobile] = hosts.start_both();
    let bind = || UdpSocket::bind((FIXED_HOST, 0)).unwrap();
    let server = hosts.fixed.run(bind).unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut request = [0; 8];
        while let Ok((length, from)) = server.recv_from(&mut request) {
            let _ = server.send_to(&request[..length], from);
        }
    });
    let client = hosts.mobile.run(|| UdpSocket::bind("0.0.0.0:0").unwrap());
    let client = client.unwrap();
    client
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let mut stalls = Vec::new();
    for dead in [500, 1_500, 2_500].map(Duration::from_millis) {
        stall(&client, address);
        gateway.kill();
        let begun = Instant::now();
        while begun.elapsed() < dead {
            let _ = client.send_to(&[0; 8], address);
            std::thread::sleep(Duration::from_millis(20));
        }
        gateway = hosts.start("gateway");
        stalls.push(stall(&client, address));
    }
    println!("{stalls:?}");
    // It was 10 to 15 s.
    assert!(
        stalls.iter().min() < Some(&Duration::from_secs(6)),
        "{stalls:?}"
    );
}
