//! Two bearers over the loopback interface, and strangers at the door. Times are handed in; the network is real.

use std::io::{Read, Write};
use std::net::TcpStream;

use wire::address::HopAddress;

use super::*;

/// A datagram, with the address that it came from.
type Received = (HopAddress, Vec<u8>);

fn gateway() -> (TlsBearer, SocketAddr) {
    let options = TlsOptions {
        listen: Some("127.0.0.1:0".parse().unwrap()),
        mark: None,
    };
    let bearer = TlsBearer::open(&options).unwrap();
    let at = bearer.listens_at().unwrap().unwrap();
    (bearer, at)
}

/// Lets both act until `holds`; what the gateway receives, with the sender.
fn until(
    bearers: [&mut TlsBearer; 2],
    now: Instant,
    mut holds: impl FnMut(&[(HopAddress, Vec<u8>)], &[Vec<u8>]) -> bool,
) -> (Vec<Received>, Vec<Vec<u8>>) {
    let [mobile, gateway] = bearers;
    let (mut there, mut here) = (Vec::new(), Vec::new());
    for _ in 0..100_000 {
        let mut sink =
            |arrival: Arrival, datagram: &mut [u8]| there.push((arrival.from, datagram.to_vec()));
        gateway.receive(now, &mut sink).unwrap();
        let mut sink = |_: Arrival, datagram: &mut [u8]| here.push(datagram.to_vec());
        mobile.receive(now, &mut sink).unwrap();
        if holds(&there, &here) {
            return (there, here);
        }
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    panic!("{} and {} datagrams", there.len(), here.len());
}

#[test]
fn datagrams_cross_both_ways_whole_and_in_order() {
    let (mut gateway, at) = gateway();
    let mut mobile = TlsBearer::open(&TlsOptions::default()).unwrap();
    let now = Instant::from_millis(1_000);
    let first = [b"one".as_slice(), b"two"].map(PacketBuffer::copy_of);
    let sent = mobile.send(now, at, &first);
    assert_eq!((sent.handled, sent.dropped), (2, 0), "{:?}", sent.problem);
    let (there, _) = until([&mut mobile, &mut gateway], now, |there, _| {
        there.len() == 2
    });
    let contents: Vec<_> = there.iter().map(|(_, content)| &content[..]).collect();
    assert_eq!(contents, [b"one".as_slice(), b"two"]);
    let HopAddress::Tls(from) = there[0].0 else {
        panic!("{}", there[0].0);
    };
    let long: Vec<_> = (1..=9)
        .map(|n| PacketBuffer::copy_of(&vec![n; 1_400]))
        .collect();
    assert_eq!(gateway.send(now, from, &long).dropped, 0);
    let (_, here) = until([&mut mobile, &mut gateway], now, |_, here| here.len() == 9);
    assert!(
        here.iter()
            .zip(&long)
            .all(|(got, sent)| got[..] == sent[..])
    );
    assert_eq!(gateway.counters().connections, 1);
}

/// The other side does not read: what there is no room for is dropped, and memory stays bounded.
#[test]
fn a_slow_reader_loses_datagrams_and_costs_no_memory() {
    let (mut gateway, at) = gateway();
    let mut mobile = TlsBearer::open(&TlsOptions::default()).unwrap();
    let now = Instant::from_millis(1_000);
    mobile.send(now, at, &[PacketBuffer::copy_of(b"hello")]);
    let (there, _) = until([&mut mobile, &mut gateway], now, |there, _| {
        there.len() == 1
    });
    let HopAddress::Tls(from) = there[0].0 else {
        panic!("{}", there[0].0);
    };
    let batch: Vec<_> = (0..64)
        .map(|_| PacketBuffer::copy_of(&[7; 1_400]))
        .collect();
    for _ in 0..1_000 {
        gateway.send(now, from, &batch);
    }
    let counters = gateway.counters();
    assert!(counters.dropped > 32_000, "{counters:?}");
    let held: usize = gateway.connections.values().map(Connection::held).sum();
    assert!(held < 64 << 10, "{held} bytes");
}

#[test]
fn strangers_get_nothing_and_are_closed_in_time() {
    let (mut gateway, at) = gateway();
    let now = Instant::from_millis(1_000);
    let receive = |gateway: &mut TlsBearer, now| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut sink = |_: Arrival, _: &mut [u8]| panic!("a datagram");
        gateway.receive(now, &mut sink).unwrap();
    };
    let mut garbage = TcpStream::connect(at).unwrap();
    let silent = TcpStream::connect(at).unwrap();
    let mut half = TcpStream::connect(at).unwrap();
    garbage.write_all(&[b'x'; 600]).unwrap();
    // The begin of a record with a ClientHello.
    half.write_all(&[22, 3, 1, 2, 0, 1, 0]).unwrap();
    for _ in 0..5 {
        receive(&mut gateway, now);
    }
    assert_eq!(gateway.counters().connections, 2, "garbage ends at once");
    let mut answer = Vec::new();
    garbage.read_to_end(&mut answer).unwrap();
    assert!(answer.len() < 32, "an alert at most: {answer:?}");
    gateway.handle_timeout(now + PATIENCE);
    assert_eq!(gateway.counters().connections, 0);
    drop((silent, half));
    // Many at once: eight of one address in a second.
    let crowd: Vec<_> = (0..40).map(|_| TcpStream::connect(at).unwrap()).collect();
    for _ in 0..5 {
        receive(&mut gateway, now + PATIENCE + SOON);
    }
    let counters = gateway.counters();
    assert_eq!(
        (counters.connections, counters.refused),
        (8, 32),
        "{counters:?}"
    );
    drop(crowd);
}

#[test]
fn a_server_that_is_not_there_is_asked_once_a_second() {
    let (gateway, at) = gateway();
    drop(gateway);
    let mut mobile = TlsBearer::open(&TlsOptions::default()).unwrap();
    let datagram = [PacketBuffer::copy_of(b"one")];
    let mut refused = 0;
    for millis in (0..3_000).step_by(50) {
        let sent = mobile.send(Instant::from_millis(10_000 + millis), at, &datagram);
        let kind = sent.problem.map(|problem| problem.kind());
        refused += u32::from(kind == Some(io::ErrorKind::ConnectionRefused));
        std::thread::sleep(std::time::Duration::from_millis(1));
        mobile
            .receive(Instant::from_millis(10_000 + millis), &mut |_, _| {})
            .unwrap();
    }
    // The loopback interface refuses at once.
    assert_eq!((refused, mobile.counters().connections), (3, 0));
}
