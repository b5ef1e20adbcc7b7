//! One that sends too much of something costs the others little.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rig::{Attack, Flood, Forgery, RawMobile};
use socket2::{Domain, Protocol, Socket, Type};

use super::{GATEWAY, RAW, add_raw_mobile, gateway_key, raw_mobile};
use crate::support::{FIXED_HOST, Hosts, able, fetch};

const PINGS: usize = 60;
/// Time for which a ping waits for its answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns the number of answered pings of the mobile host.
fn answered_pings(hosts: &Hosts) -> usize {
    let open = || Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::ICMPV4)).unwrap();
    let socket = UdpSocket::from(hosts.mobile.run(open).unwrap());
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let ping = |number: usize| {
        let request = [8, 0, 0, 0, 0, 0, 0, number as u8];
        socket.send_to(&request, (FIXED_HOST, 0)).unwrap();
        let mut answer = [0; 64];
        // Late answers to former pings come first.
        while socket.recv(&mut answer).is_ok() {
            if answer[7] == number as u8 {
                return true;
            }
        }
        false
    };
    (0..PINGS)
        .filter(|number| {
            thread::sleep(Duration::from_millis(30));
            ping(*number)
        })
        .count()
}

/// Sends frames of an attack at 4 Mbit/s until it is told to stop; returns their number.
fn attack(mut raw: RawMobile, attack: Attack, stop: &AtomicBool) -> u32 {
    let begun = Instant::now();
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        raw.receive(|_| ());
        while f64::from(number) < begun.elapsed().as_secs_f64() * 400.0 {
            number += 1;
            assert!(raw.send(&attack.frame(number, RAW, [198, 51, 100, 2])));
        }
    }
    number
}

/// Records of two bytes, which become 40-byte packets, and packets that begin flows.
#[test]
fn a_mobile_host_that_floods_takes_no_pings_from_others() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    add_raw_mobile(&hosts);
    let _daemons = hosts.start_both();
    for kind in [Attack::Records, Attack::Flows] {
        let raw = raw_mobile(&hosts, &hosts.mobile);
        let before = hosts.status("gateway")["device"]["sent"].as_u64().unwrap();
        let stop = AtomicBool::new(false);
        let (answered, frames) = thread::scope(|scope| {
            let attacking = scope.spawn(|| attack(raw, kind, &stop));
            let answered = answered_pings(&hosts);
            stop.store(true, Ordering::Relaxed);
            (answered, attacking.join().unwrap())
        });
        let crossed = hosts.status("gateway")["device"]["sent"].as_u64().unwrap() - before;
        println!("{kind:?}: {answered} of {PINGS}, {frames} frames, {crossed} packets");
        assert!(
            frames > 200 && crossed > 500,
            "{frames} frames, {crossed} packets"
        );
        assert!(answered * 10 >= PINGS * 9, "{answered} of {PINGS}");
    }
}

/// A wired host sends 5,000 datagrams of one byte a second, each to another port of the mobile host.
#[test]
fn a_wired_host_that_floods_leaves_a_mobile_host_its_own_connections() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    hosts.without_nat();
    let _daemons = hosts.start_both();
    let listener = hosts
        .fixed
        .run(|| TcpListener::bind((FIXED_HOST, 0)).unwrap())
        .unwrap();
    let server = listener.local_addr().unwrap();
    let flooder = hosts
        .fixed
        .run(|| UdpSocket::bind((FIXED_HOST, 0)).unwrap())
        .unwrap();
    let mobile: IpAddr = "10.73.0.2".parse().unwrap();
    let stop = AtomicBool::new(false);
    let (mut took, sent) = thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            let begun = Instant::now();
            let mut sent = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                while f64::from(sent) < begun.elapsed().as_secs_f64() * 5_000.0 {
                    sent += 1;
                    // Its port may be reported as closed.
                    let _ = flooder.send_to(&[7], (mobile, 1_024 + (sent % 60_000) as u16));
                }
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        thread::sleep(Duration::from_millis(500));
        let took: Vec<_> = (0..15).map(|_| time_to_connect(&hosts, server)).collect();
        stop.store(true, Ordering::Relaxed);
        (took, flooding.join().unwrap())
    });
    took.sort();
    println!("{took:?}, {sent} datagrams");
    assert!(sent > 2_000, "{sent}");
    // A SYN that is lost comes again after a second.
    assert!(
        took[took.len() / 2] < Duration::from_millis(900),
        "{took:?}"
    );
}

fn time_to_connect(hosts: &Hosts, server: SocketAddr) -> Duration {
    let begun = Instant::now();
    let connect = || TcpStream::connect_timeout(&server, Duration::from_mins(1)).unwrap();
    hosts.mobile.run(connect).unwrap();
    begun.elapsed()
}

/// Initiations of strangers take no room from the datagrams of a mobile host, and cost no answers without end.
#[test]
fn strangers_that_flood_stop_no_transfer() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let _daemons = hosts.start_both();
    let forged = Forgery::Initiations.datagrams(gateway_key(&hosts));
    let flood = Flood::start(&hosts.mobile, GATEWAY.parse().unwrap(), forged, 1_000_000).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        fetch(&hosts, 200_000);
    }
    let sent = flood.sent();
    drop(flood);
    let dropped = &hosts.status("gateway")["host"]["datagrams_dropped"].to_string();
    println!("{sent} sent: {dropped}");
    assert!(
        sent > 10_000 && dropped.contains("Unproven"),
        "{sent}: {dropped}"
    );
}
