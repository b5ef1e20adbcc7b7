use std::net::{Ipv4Addr, SocketAddrV4};

use simulator::{Coding, Packet as _};
use units::{Bytes, Duration, Instant};

use super::*;

const HERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 2_049);
const THERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 1), 1_023);
const LASTS: Duration = Duration::from_secs(30);

fn ends(mtu: usize, room: u64) -> [Internet; 2] {
    let room = Room {
        bytes: Bytes::new(room),
        lasts: LASTS,
    };
    [HERE, THERE].map(|local| Internet::new(local, mtu, room))
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

fn take(internet: &mut Internet, now: Instant, packet: &Packet) -> Option<Arrived> {
    match packet {
        Packet::Ip { bytes, .. } => internet.receive(now, bytes),
        Packet::Frame { .. } => None,
    }
}

#[test]
fn datagrams_cross_in_fragments_of_any_order() {
    for (mtu, length, count) in [
        (1_500, 4_240, 3),
        (1_500, 1_472, 1),
        (1_500, 1_473, 2),
        (576, 4_240, 8),
        (1_500, 0, 1),
    ] {
        let [mut here, mut there] = ends(mtu, 1 << 20);
        let payload = content(length);
        let mut packets = here.send(THERE, &payload);
        assert_eq!(packets.len(), count, "{length} bytes at {mtu}");
        assert!(
            packets
                .iter()
                .all(|packet| packet.length().get() <= mtu as u64)
        );
        packets.reverse();
        let arrived = packets
            .iter()
            .filter_map(|packet| take(&mut there, Instant::ZERO, packet));
        let arrived: Vec<_> = arrived.collect();
        assert_eq!(arrived, [(HERE, payload.into())]);
        assert_eq!(there.poll_timeout(), None);
    }
}

#[test]
fn the_loss_of_a_fragment_is_the_loss_of_its_datagram_and_of_no_other() {
    let [mut here, mut there] = ends(1_500, 1 << 20);
    let now = Instant::from_millis(5);
    for packet in here.send(THERE, &content(4_000)).iter().skip(1) {
        assert_eq!(take(&mut there, now, packet), None);
    }
    let second = here.send(THERE, &content(3_000));
    let arrived = second
        .iter()
        .filter_map(|packet| take(&mut there, now, packet));
    assert_eq!(arrived.count(), 1);
    assert_eq!(there.poll_timeout(), Some(now + LASTS));
    there.handle_timeout(now + LASTS);
    assert_eq!((there.poll_timeout(), there.incomplete()), (None, 1));
}

#[test]
fn what_is_incomplete_has_bounded_room() {
    let [mut here, mut there] = ends(1_500, 6_000);
    let first: Vec<_> = (0..3).map(|_| here.send(THERE, &content(4_000))).collect();
    for packets in &first {
        take(&mut there, Instant::ZERO, &packets[0]);
        take(&mut there, Instant::ZERO, &packets[1]);
    }
    assert_eq!(there.incomplete(), 1);
    assert_eq!(take(&mut there, Instant::ZERO, &first[0][2]), None);
    assert!(take(&mut there, Instant::ZERO, &first[2][2]).is_some());
}

#[test]
fn fragments_that_come_twice_or_contradict_each_other_do_no_harm() {
    let [mut here, mut there] = ends(1_500, 1 << 20);
    let packets = here.send(THERE, &content(4_000));
    for packet in [&packets[0], &packets[0], &packets[1], &packets[1]] {
        assert_eq!(take(&mut there, Instant::ZERO, packet), None);
    }
    assert!(take(&mut there, Instant::ZERO, &packets[2]).is_some());
    let Packet::Ip { bytes, .. } = &packets[1] else {
        panic!("it is an IP packet");
    };
    let mut moved = bytes.to_vec();
    moved[7] = moved[7].wrapping_add(1);
    for packet in [&moved.into(), bytes] {
        assert_eq!(there.receive(Instant::ZERO, packet), None);
    }
}

#[test]
fn packets_exist_as_bytes() {
    let [mut here, _] = ends(1_500, 1 << 20);
    let mut packets = here.send(THERE, &content(4_000));
    let frame = wire::packet::PacketBuffer::copy_of(b"a frame");
    packets.push(Packet::frame([*HERE.ip(), *THERE.ip()], &frame));
    for packet in packets {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        assert_eq!(bytes.len() as u64, packet.length().get());
        assert_eq!(Packet::parse(&bytes).unwrap(), packet);
    }
    assert!(Packet::parse(&[0x45]).is_err());
}
