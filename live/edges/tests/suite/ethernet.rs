//! The Ethernet bearer over a veth pair: it keeps content and order, receives from no other station, and outlives its
//! interface. It needs root (or a user namespace); without it the tests are skipped with a message, but fail under
//! CI=true.

use std::io;
use std::os::fd::AsFd;

use edges::bearer::{Arrival, Batch, DatagramBearer, NetworkChange};
use edges::clock;
use edges::ethernet::{EthernetBearer, EthernetOptions};
use edges::netlink::Netlink;
use edges::wait::{Interest, Waiter};
use units::Duration;
use wire::address::HopAddress;
use wire::packet::PacketBuffer;

use crate::support::{Pair, net, privileged};

const PATIENCE: Duration = Duration::from_secs(10);

fn pair() -> Pair {
    Pair::create(net("10.0.0.1/24"), net("10.0.0.2/24"))
}

/// Opens a bearer at one end, with frames of this type.
fn open(pair: &Pair, interface: &str, ether_type: u16) -> io::Result<EthernetBearer> {
    let host = if interface == "near" {
        &pair.left
    } else {
        &pair.right
    };
    let options = EthernetOptions {
        ether_type,
        ..EthernetOptions::new(interface)
    };
    host.run(|| EthernetBearer::open(&options)).unwrap()
}

/// Returns a datagram of `length` bytes whose content contains its `number`.
fn datagram(number: u32, length: usize) -> PacketBuffer {
    let bytes: Vec<u8> = (0..length)
        .map(|at| (at as u32).wrapping_mul(31).wrapping_add(number) as u8)
        .collect();
    PacketBuffer::copy_of(&bytes)
}

/// Waits until frames cross from one to the other: a link that has just come up loses some.
fn join(one: &mut EthernetBearer, other: &mut EthernetBearer) {
    let mut came = 0;
    while came == 0 {
        let sent = one.send(other.local_address(), &[datagram(0, 9)]);
        assert_eq!(sent.handled, 1);
        std::thread::sleep(std::time::Duration::from_millis(1));
        came = other
            .receive_batch(clock::monotonic(), &mut |_, _| {})
            .unwrap()
            .datagrams;
    }
    std::thread::sleep(std::time::Duration::from_millis(1));
    let rest = other.receive_batch(clock::monotonic(), &mut |_, _| {});
    assert!(rest.is_ok());
}

/// Receives datagrams until there are `count`.
fn receive(bearer: &mut EthernetBearer, count: usize) -> Vec<(Arrival, Vec<u8>)> {
    let mut waiter = Waiter::new().unwrap();
    waiter.add(bearer.as_fd(), 1, Interest::Readable).unwrap();
    let mut got = Vec::new();
    while got.len() < count {
        let ready = waiter.wait(Some(PATIENCE)).unwrap().count();
        assert!(ready > 0, "{} of {count} datagrams came", got.len());
        let now = clock::monotonic();
        let mut sink = |arrival: Arrival, bytes: &mut [u8]| {
            assert!(arrival.at <= now);
            got.push((arrival, bytes.to_vec()));
        };
        bearer.receive_batch(now, &mut sink).unwrap();
    }
    got
}

#[test]
fn content_length_and_order_are_kept() {
    if !privileged() {
        return;
    }
    let pair = pair();
    let mut one = open(&pair, "near", 0x88b5).unwrap();
    let mut other = open(&pair, "far", 0x88b5).unwrap();
    join(&mut one, &mut other);
    let before = one.counters().send_calls;
    let longest = one.mtu() - 2;
    assert_eq!(longest, 1_498);
    let lengths = (0..300_usize).map(|at| (at * 7_919) % (longest + 1));
    let sent: Vec<_> = (0..)
        .zip(lengths)
        .map(|(at, length)| datagram(at, length))
        .collect();
    let result = one.send(other.local_address(), &sent);
    assert_eq!((result.handled, result.dropped), (300, 0), "{result:?}");
    assert!(
        one.counters().send_calls < before + 10,
        "frames share a call"
    );
    let got = receive(&mut other, sent.len());
    assert!(got.is_sorted_by_key(|(arrival, _)| arrival.at));
    for ((arrival, bytes), datagram) in got.iter().zip(&sent) {
        assert_eq!(bytes[..], datagram[..]);
        assert_eq!(arrival.from, one.local_address());
    }
}

#[test]
fn nobody_else_is_heard() {
    if !privileged() {
        return;
    }
    let pair = pair();
    let mut one = open(&pair, "near", 0x88b5).unwrap();
    let mut elsewhere = open(&pair, "near", 0x88b6).unwrap();
    let mut other = open(&pair, "far", 0x88b5).unwrap();
    join(&mut one, &mut other);
    let heard = other.counters().received;
    let to = other.local_address();
    // One of another type; one for another station; one for all, and so for this one.
    assert_eq!(elsewhere.send(to, &[datagram(1, 9)]).dropped, 0);
    let stranger = "02:00:00:00:00:07".parse().unwrap();
    assert_eq!(one.send(stranger, &[datagram(2, 9)]).dropped, 0);
    assert_eq!(
        one.send(HopAddress::EVERYBODY, &[datagram(3, 9)]).dropped,
        0
    );
    let got = receive(&mut other, 1);
    assert_eq!(got[0].1[..], datagram(3, 9)[..]);
    assert_eq!(other.counters().received, heard + 1);
}

#[test]
fn what_the_kernel_refuses_is_counted_and_the_rest_goes() {
    if !privileged() {
        return;
    }
    let pair = pair();
    let mut one = open(&pair, "near", 0x88b5).unwrap();
    let mut other = open(&pair, "far", 0x88b5).unwrap();
    join(&mut one, &mut other);
    let to = other.local_address();
    let sent = one.send(
        to,
        &[datagram(0, 100), datagram(1, 1_499), datagram(2, 100)],
    );
    assert_eq!((sent.handled, sent.dropped), (3, 1));
    assert_eq!(one.counters().too_large, 1);
    assert_eq!(receive(&mut other, 2).len(), 2);
    let udp = "127.0.0.1:9".parse().unwrap();
    assert_eq!(one.send(udp, &[datagram(3, 100)]).dropped, 1);
    assert_eq!(one.counters().refused, 1);
}

#[test]
fn a_bearer_outlives_its_interface() {
    if !privileged() {
        return;
    }
    let pair = pair();
    let mut one = open(&pair, "near", 0x88b5).unwrap();
    pair.left.run(|| outlive(&mut one, &pair)).unwrap();
}

fn outlive(one: &mut EthernetBearer, pair: &Pair) {
    let mut netlink = Netlink::open().unwrap();
    assert_eq!(one.follow_network().unwrap(), NetworkChange::Unchanged);
    let mut other = open(pair, "far", 0x88b5).unwrap();
    let to = other.local_address();

    join(one, &mut other);
    netlink.set_down("near").unwrap();
    assert_eq!(one.follow_network().unwrap(), NetworkChange::Lost);
    assert_eq!(one.send(to, &[datagram(1, 60)]).dropped, 1);
    let mut nothing = |_: Arrival, _: &mut [u8]| panic!("something came");
    let batch = one.receive_batch(clock::monotonic(), &mut nothing);
    assert_eq!(batch.unwrap(), Batch::default());
    netlink.set_up("near").unwrap();
    assert_eq!(one.follow_network().unwrap(), NetworkChange::Found);
    assert_eq!(one.follow_network().unwrap(), NetworkChange::Unchanged);
    join(one, &mut other);

    netlink.delete_link("near").unwrap();
    assert_eq!(one.follow_network().unwrap(), NetworkChange::Lost);
    assert_eq!(one.send(to, &[datagram(3, 60)]).dropped, 1);
    crate::support::connect(&pair.right, net("10.0.0.1/24"), net("10.0.0.2/24"));
    assert_eq!(one.follow_network().unwrap(), NetworkChange::Found);
    let mut other = open(pair, "far", 0x88b5).unwrap();
    join(one, &mut other);
}

#[test]
fn an_interface_that_cannot_carry_frames_is_named() {
    if !privileged() {
        return;
    }
    let pair = pair();
    let complaint = |interface: &str| {
        let error = pair
            .left
            .run(|| EthernetBearer::open(&EthernetOptions::new(interface)));
        error.unwrap().err().unwrap().to_string()
    };
    assert!(complaint("nowhere").contains("no interface 'nowhere'"));
    let low = pair
        .left
        .run(|| Netlink::open().unwrap().set_mtu("near", 600));
    low.unwrap().unwrap();
    assert!(
        complaint("near").contains("raise its MTU"),
        "{}",
        complaint("near")
    );
}
