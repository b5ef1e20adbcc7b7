//! TUN devices of the kernel, connected by a relay between two network namespaces: data sent by kernel TCP and UDP into
//! one come out of the other. Needs root and `/dev/net/tun`.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use edges::bearer::DatagramBearer;
use edges::clock;
use edges::tun::{Offload, PacketDevice, TunDevice, TunOptions};
use edges::udp::{UdpBearer, UdpOptions};
use edges::wait::{Interest, Waiter};
use units::Duration;
use wire::packet::PacketBuffer;

use crate::tunnel::{Tunnel, namespace_or_skip};

const MEBIBYTES: usize = 8;

/// Returns a stream of bytes in which every position is recognisable.
fn stream() -> Vec<u8> {
    (0..MEBIBYTES << 20)
        .map(|at: usize| (at.wrapping_mul(2_654_435_761) >> 16) as u8)
        .collect()
}

/// Sends a stream by kernel TCP from the near to the far end and compares it.
fn tcp_arrives_whole(tunnel: &Tunnel, far: IpAddr) {
    let listener = tunnel
        .far
        .run(|| TcpListener::bind((far, 0)))
        .expect("a namespace");
    let listener = listener.expect("a listener");
    let target = listener.local_addr().expect("an address");
    let sender = std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let connected = tunnel
                .near
                .run(|| TcpStream::connect(target))
                .expect("a namespace");
            connected
                .expect("connected")
                .write_all(&stream())
                .expect("sent");
        });
        let mut got = Vec::new();
        listener
            .accept()
            .expect("accepted")
            .0
            .read_to_end(&mut got)
            .expect("read");
        assert!(got == stream(), "{} bytes came, or others", got.len());
        sender.join()
    });
    sender.expect("no panic");
}

/// Sends trains of datagrams by UDP segmentation into the near device and compares them.
fn udp_trains_arrive(tunnel: &Tunnel, far: IpAddr) {
    let open = || UdpBearer::open(&UdpOptions::new(SocketAddr::new(far, 0)));
    let mut receiver = tunnel
        .far
        .run(open)
        .expect("a namespace")
        .expect("a bearer");
    let any = if far.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let open = || UdpBearer::open(&UdpOptions::new(any.parse().expect("an address")));
    let mut sender = tunnel
        .near
        .run(open)
        .expect("a namespace")
        .expect("a bearer");

    let train: Vec<PacketBuffer> = (0..30_u8)
        .map(|number| PacketBuffer::copy_of(&[number; 1_200]))
        .collect();
    let sent = sender.send(receiver.local_address(), &train);
    assert_eq!((sent.handled, sent.dropped), (30, 0), "{:?}", sent.problem);
    let mut waiter = Waiter::new().expect("a waiter");
    waiter
        .add(receiver.as_fd(), 1, Interest::Readable)
        .expect("added");
    let mut got = Vec::new();
    while got.len() < train.len() {
        let ready = waiter
            .wait(Some(Duration::from_secs(10)))
            .expect("a wait")
            .count();
        assert!(ready > 0, "{} of {} datagrams came", got.len(), train.len());
        let take = &mut |_, bytes: &mut [u8]| got.push(bytes.to_vec());
        receiver
            .receive_batch(clock::monotonic(), take)
            .expect("received");
    }
    assert!(
        got.iter()
            .zip(&train)
            .all(|(bytes, datagram)| bytes[..] == datagram[..])
    );
}

fn everything_arrives(near: Offload, far: Offload) {
    let Some(tunnel) = Tunnel::open([near, far]) else {
        return;
    };
    for address in Tunnel::far_addresses() {
        tcp_arrives_whole(&tunnel, address);
        udp_trains_arrive(&tunnel, address);
    }
    let passed = tunnel.close();
    eprintln!(
        "relay from {near:?} to {far:?}: {} ns of CPU",
        passed.cpu_nanos
    );
    let (near_largest, _) = passed.largest;
    match near {
        Offload::Segments => assert!(near_largest > 10_000, "largest packet {near_largest}"),
        Offload::None => assert!(near_largest <= 1_500, "largest packet {near_largest}"),
    }
    assert_eq!(passed.malformed, 0);
}

#[test]
fn super_packets_pass_from_kernel_to_kernel() {
    everything_arrives(Offload::Segments, Offload::Segments);
}

#[test]
fn super_packets_are_cut_for_a_device_without_offload() {
    everything_arrives(Offload::Segments, Offload::None);
}

#[test]
fn without_offload_no_packet_exceeds_the_mtu() {
    everything_arrives(Offload::None, Offload::None);
    everything_arrives(Offload::None, Offload::Segments);
}

#[test]
fn a_device_is_taken_over_by_its_descriptor() {
    let Some(namespace) = namespace_or_skip() else {
        return;
    };
    let open = || TunDevice::open(&TunOptions::new("lasthop%d"));
    let device = namespace.run(open).expect("a namespace").expect("a device");
    assert_eq!(device.name(), "lasthop0");
    let again = TunDevice::from_descriptor(device.into_descriptor()).expect("taken over");
    assert_eq!(again.name(), "lasthop0");
    let file = std::fs::File::open("/dev/null").expect("the null device");
    assert!(TunDevice::from_descriptor(file.into()).is_err());
}

#[test]
fn a_name_that_cannot_be_is_explained() {
    let Some(namespace) = namespace_or_skip() else {
        return;
    };
    let open = |name: &str| TunDevice::open(&TunOptions::new(name)).map(|_| ());
    let long = namespace
        .run(|| open("a-name-that-is-too-long"))
        .expect("a namespace");
    assert!(long.expect_err("an error").to_string().contains("15 bytes"));
    let taken = namespace.run(|| {
        let _first = TunDevice::open(&TunOptions::new("lasthop0"))?;
        open("lasthop0")
    });
    let taken = taken
        .expect("a namespace")
        .expect_err("an error")
        .to_string();
    assert!(
        taken.contains("lasthop0") && taken.contains("another name"),
        "{taken}"
    );
}

#[test]
fn a_device_that_is_down_refuses_packets_and_gives_none() {
    let Some(namespace) = namespace_or_skip() else {
        return;
    };
    let open = || TunDevice::open(&TunOptions::new("lasthop%d"));
    let mut device = namespace.run(open).expect("a namespace").expect("a device");
    assert_eq!(device.receive().ok().flatten(), None);
    let mut packet = wire::packet::Packet::new(PacketBuffer::copy_of(&[0x45; 40]));
    assert!(device.send(&mut packet).is_err());
    packet.segment_size = 1_000;
    let odd = device.send(&mut packet).expect_err("not what it claims");
    assert_eq!(odd.kind(), std::io::ErrorKind::InvalidInput);
}
