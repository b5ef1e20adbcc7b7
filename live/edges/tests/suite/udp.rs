//! The UDP bearer over loopback: it keeps content and order, also in trains; time stamps do not run backwards.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use edges::bearer::{Arrival, DatagramBearer};
use edges::clock;
use edges::udp::{Privileged, UdpBearer, UdpOptions};
use edges::wait::{Interest, Waiter};
use units::{Bytes, Duration};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

const PATIENCE: Duration = Duration::from_secs(10);

fn bearer(bind: &str) -> UdpBearer {
    UdpBearer::open(&UdpOptions::new(bind.parse().expect("an address"))).expect("a bearer")
}

/// Returns the address of a UDP bearer or its peer.
fn place(address: HopAddress) -> SocketAddr {
    match address {
        HopAddress::Udp(address) => address,
        _ => panic!("{address} is no UDP address"),
    }
}

/// Returns a datagram of `length` bytes whose content contains its `number`.
fn datagram(number: u32, length: usize) -> PacketBuffer {
    let mut bytes: Vec<u8> = number.to_be_bytes().to_vec();
    bytes.extend((4..length).map(|at| (at as u32).wrapping_mul(31).wrapping_add(number) as u8));
    PacketBuffer::copy_of(&bytes)
}

/// Receives datagrams until there are `count`.
fn receive(bearer: &mut UdpBearer, count: usize) -> Vec<(Arrival, Vec<u8>)> {
    let mut waiter = Waiter::new().expect("a waiter");
    waiter
        .add(bearer.as_fd(), 1, Interest::Readable)
        .expect("added");
    let mut got = Vec::new();
    while got.len() < count {
        let ready = waiter.wait(Some(PATIENCE)).expect("a wait").count();
        assert!(ready > 0, "{} of {count} datagrams came", got.len());
        let now = clock::monotonic();
        bearer
            .receive_batch(now, &mut |arrival, bytes| {
                got.push((arrival, bytes.to_vec()));
            })
            .expect("received");
    }
    got
}

/// Sends datagrams of `lengths`, and checks that the same arrive, in order.
fn exchange(from: &str, to: &str, lengths: &[usize]) {
    let (mut one, mut other) = (bearer(from), bearer(to));
    let sent: Vec<PacketBuffer> = lengths
        .iter()
        .enumerate()
        .map(|(at, length)| datagram(at as u32, *length))
        .collect();
    let before = clock::monotonic();
    let target = other.local_address();
    let mut handled = 0;
    let mut got = Vec::new();
    while handled < sent.len() {
        let result = one.send(target, &sent[handled..sent.len().min(handled + 100)]);
        assert!(result.dropped == 0 && result.handled > 0, "{result:?}");
        handled += result.handled;
        got.extend(receive(&mut other, result.handled));
    }
    let after = clock::monotonic();
    assert_eq!(got.len(), sent.len());
    for ((_, bytes), datagram) in got.iter().zip(&sent) {
        assert!(
            bytes[..] == datagram[..],
            "a datagram of {} came as {}",
            datagram.len(),
            bytes.len()
        );
    }
    assert!(got.is_sorted_by_key(|(arrival, _)| arrival.at));
    for (arrival, _) in &got {
        assert!(arrival.at <= after, "an arrival in the future");
        // The two clocks are read apart from each other.
        assert!(
            arrival.at + Duration::from_millis(100) >= before,
            "an arrival before its sending"
        );
        let from = place(arrival.from);
        assert_eq!(from.ip().to_canonical(), from.ip());
        assert_eq!(from.port(), place(one.local_address()).port());
    }
    assert_eq!(one.counters().sent, sent.len() as u64);
    assert_eq!(other.counters().received, sent.len() as u64);
}

#[test]
fn equal_datagrams_travel_as_trains() {
    exchange("127.0.0.1:0", "127.0.0.1:0", &[1_473; 300]);
    exchange("[::1]:0", "[::1]:0", &[1_473; 300]);
}

#[test]
fn mixed_sizes_keep_content_and_order() {
    let lengths: Vec<usize> = (0..500_usize)
        .map(|at| 4 + (at * 7_919 % 13) * (at * 104_729 % 101))
        .collect();
    exchange("127.0.0.1:0", "127.0.0.1:0", &lengths);
    exchange(
        "127.0.0.1:0",
        "127.0.0.1:0",
        &[1_400, 1_400, 1_400, 90, 90, 1_400, 4, 5, 65_507, 30_000],
    );
}

#[test]
fn a_train_takes_one_call() {
    let (mut one, mut other) = (bearer("127.0.0.1:0"), bearer("127.0.0.1:0"));
    let train: Vec<PacketBuffer> = (0..40).map(|number| datagram(number, 1_473)).collect();
    assert_eq!(one.send(other.local_address(), &train).handled, 40);
    assert_eq!(one.counters().send_calls, 1);
    assert_eq!(receive(&mut other, 40).len(), 40);
}

#[test]
fn both_families_share_a_socket_bound_to_any_address() {
    let (mut any, mut one) = (bearer("[::]:0"), bearer("127.0.0.1:0"));
    let port = place(any.local_address()).port();
    let target: SocketAddr = ([127, 0, 0, 1], port).into();
    assert_eq!(one.send(target.into(), &[datagram(1, 100)]).handled, 1);
    let got = receive(&mut any, 1);
    assert_eq!(got[0].0.from, one.local_address());
    assert_eq!(any.send(got[0].0.from, &[datagram(2, 200)]).dropped, 0);
    assert_eq!(receive(&mut one, 1)[0].1.len(), 200);
}

#[test]
fn what_the_kernel_refuses_is_counted_and_the_rest_goes() {
    let (mut one, mut other) = (bearer("127.0.0.1:0"), bearer("127.0.0.1:0"));
    let batch = [datagram(0, 100), datagram(1, 65_508), datagram(2, 100)];
    let sent = one.send(other.local_address(), &batch);
    assert_eq!((sent.handled, sent.dropped), (3, 1));
    assert!(sent.problem.is_some());
    assert_eq!(one.counters().too_large, 1);
    assert_eq!(receive(&mut other, 2).len(), 2);

    // The port is closed; its error disturbs nothing.
    let nobody = bearer("127.0.0.1:0").local_address();
    assert_eq!(one.send(nobody, &[datagram(3, 100)]).handled, 1);
    let sent = one.send(other.local_address(), &[datagram(4, 100)]);
    assert_eq!((sent.handled, sent.dropped), (1, 0));
    assert_eq!(receive(&mut other, 1)[0].1[..], datagram(4, 100)[..]);
}

/// A gateway is asked at several addresses at a time.
#[test]
fn each_closed_port_is_reported() {
    let mut one = bearer("127.0.0.1:0");
    let closed = [(); 3]
        .map(|()| bearer("127.0.0.1:0"))
        .map(|it| it.local_address());
    for to in closed {
        assert_eq!(one.send(to, &[datagram(1, 100)]).handled, 1);
    }
    let none = one
        .receive_batch(clock::monotonic(), &mut |_, _| ())
        .expect("nothing");
    assert_eq!(none.datagrams, 0);
    let mut refused: Vec<_> = std::iter::from_fn(|| one.refused()).collect();
    refused.sort_by_key(|at| place(*at));
    let mut closed = closed.to_vec();
    closed.sort_by_key(|at| place(*at));
    assert_eq!(refused, closed);
}

#[test]
fn an_address_of_another_bearer_is_refused() {
    let mut one = bearer("127.0.0.1:0");
    let sent = one.send(HopAddress::EVERYBODY, &[datagram(1, 100)]);
    assert_eq!((sent.handled, sent.dropped), (1, 1));
    assert_eq!(one.counters().refused, 1);
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = bearer("127.0.0.1:0");
    let error = UdpBearer::open(&UdpOptions::new(place(taken.local_address())))
        .err()
        .expect("an error");
    assert!(
        error
            .to_string()
            .contains(&taken.local_address().to_string()),
        "{error}"
    );
}

/// A flood of other datagrams fills its own buffer only, and both kinds have a descriptor that becomes readable.
#[test]
fn privileged_datagrams_find_room_in_a_flood() {
    for (bind, host) in [("127.0.0.1:0", "127.0.0.1"), ("[::]:0", "127.0.0.1")] {
        let options = UdpOptions {
            buffer: Bytes::kibi(64),
            privileged: Some(Privileged {
                first_byte: 4,
                least: 25,
            }),
            ..UdpOptions::new(bind.parse().expect("an address"))
        };
        let mut bearer = UdpBearer::open(&options).expect("a bearer");
        let sender = UdpSocket::bind((host, 0)).expect("a socket");
        let to = (host, place(bearer.local_address()).port());
        for _ in 0..10_000 {
            sender.send_to(&[1; 160], to).expect("sent");
        }
        sender.send_to(&[4; 24], to).expect("sent");
        sender.send_to(&[4; 25], to).expect("sent");
        let mut waiter = Waiter::new().expect("a waiter");
        let second = bearer.more_descriptors()[0];
        for (descriptor, token) in [(bearer.as_fd(), 1), (second, 2)] {
            waiter
                .add(descriptor, token, Interest::Readable)
                .expect("added");
        }
        assert_eq!(waiter.wait(Some(PATIENCE)).expect("a wait").count(), 2);
        let mut received = Vec::new();
        let now = clock::monotonic();
        let mut sink = |_: Arrival, bytes: &mut [u8]| received.push(bytes.to_vec());
        let batch = bearer.receive_batch(now, &mut sink).expect("received");
        assert!(batch.is_full, "more of the others wait");
        assert_eq!(received[0], [4; 25], "it comes first");
        assert!(received.len() > 10 && received[1..].iter().all(|other| *other == [1; 160]));
        // The port is still this bearer's alone.
        let again = UdpOptions::new(place(bearer.local_address()));
        for privileged in [None, options.privileged] {
            let again = UdpOptions {
                privileged,
                ..again.clone()
            };
            assert!(UdpBearer::open(&again).is_err());
        }
    }
}

/// A closed port is reported, and no datagram to others is lost for it.
#[test]
fn a_port_that_is_closed_is_told() {
    for (bind, host) in [
        ("127.0.0.1:0", "127.0.0.1"),
        ("[::]:0", "127.0.0.1"),
        ("[::]:0", "::1"),
    ] {
        let (mut sender, mut listener) = (bearer(bind), bearer(&format!("{}:0", bracketed(host))));
        let closed = {
            let gone = bearer(&format!("{}:0", bracketed(host)));
            gone.local_address()
        };
        let alive = listener.local_address();
        let started = std::time::Instant::now();
        let mut refused = None;
        let mut count = 0;
        while refused.is_none() && started.elapsed() < std::time::Duration::from_secs(20) {
            assert_eq!(sender.send(closed, &[datagram(0, 100)]).handled, 1);
            let sent = sender.send(alive, &[datagram(count, 100)]);
            assert_eq!((sent.handled, sent.dropped), (1, 0), "{:?}", sent.problem);
            count += 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
            let batch = sender.receive_batch(clock::monotonic(), &mut |_, _| {});
            assert_eq!(batch.unwrap().datagrams, 0);
            refused = sender.refused();
        }
        assert_eq!(refused, Some(closed), "{bind} to {host}");
        assert_eq!(receive(&mut listener, count as usize).len(), count as usize);
        // The queue is empty, so the socket is not ready for it any more.
        let mut waiter = Waiter::new().unwrap();
        while sender.refused().is_some() {}
        sender
            .receive_batch(clock::monotonic(), &mut |_, _| {})
            .unwrap();
        while sender.refused().is_some() {}
        waiter.add(&sender, 0, Interest::Readable).unwrap();
        assert_eq!(waiter.wait(Some(Duration::ZERO)).unwrap().count(), 0);
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.into()
    }
}

#[test]
fn each_datagram_bears_the_field_that_it_was_sent_with() {
    let fields = [
        Ecn::Capable0,
        Ecn::NotCapable,
        Ecn::Capable1,
        Ecn::CongestionExperienced,
    ];
    for (from, to) in [
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("[::1]:0", "[::1]:0"),
        ("[::]:0", "127.0.0.1:0"),
        ("127.0.0.1:0", "[::]:0"),
    ] {
        let (mut one, mut other) = (bearer(from), bearer(to));
        let target = match place(other.local_address()) {
            any if any.ip().is_unspecified() => SocketAddr::from(([127, 0, 0, 1], any.port())),
            given => given,
        };
        let mut expected = Vec::new();
        for round in 0..10 {
            // Separately, as adjacent datagrams, and as a train.
            for (count, ecn) in [1, 3, 20]
                .into_iter()
                .zip(fields.iter().cycle().skip(round))
            {
                let sent: Vec<_> = (0..count).map(|number| datagram(number, 1_000)).collect();
                one.set_ecn(*ecn);
                assert_eq!(one.send(target.into(), &sent).handled, sent.len());
                expected.extend(sent.iter().map(|_| *ecn));
            }
        }
        let came = receive(&mut other, expected.len());
        let came: Vec<Ecn> = came.iter().map(|(arrival, _)| arrival.ecn).collect();
        assert_eq!(came, expected, "from {from} to {to}");
    }
}
