//! Acknowledgements that wait for a slow way back, and which of them may be left out.

use std::net::SocketAddrV4;

use arq::Input;
use units::{Duration, SeqNumber};
use wire::TcpSegment;
use wire::flow::{Class, FlowKey};
use wire::packet::{Checksum, Packet, PacketBuffer};
use wire::segment::Segments;
use wire::tcp::{AirLoss, SeqRange, TcpFlags, TcpSegmentOptions, Timestamps};

use super::script::{Script, usual};

/// A plain acknowledgement of everything before `number`.
pub(crate) fn acknowledgment(number: u32) -> TcpSegment {
    let address = |host, port| SocketAddrV4::new([10, 9, 0, host].into(), port);
    TcpSegment {
        source: address(2, 5_000),
        destination: address(1, 80),
        sequence: SeqNumber(77),
        acknowledgment: SeqNumber(number),
        flags: TcpFlags::ACK,
        window: 500,
        payload: 0,
        options: TcpSegmentOptions::default(),
    }
}

pub(crate) fn packet(segment: &TcpSegment) -> Packet {
    let mut buffer = PacketBuffer::with_room(segment.packet_length(), 0);
    segment.encode(buffer.grow(segment.packet_length()));
    let mut packet = Packet::new(buffer);
    packet.checksum = Checksum::Verified;
    packet
}

pub(crate) fn wait(end: &mut Script, packet: Packet) {
    let key = FlowKey::of(&packet.ip().expect("a packet"));
    let class = Class::Held;
    end.input(Input::Packet { packet, key, class });
}

/// Returns the segments that cross, of those that all come while the air is busy.
fn crosses(segments: &[TcpSegment]) -> Vec<TcpSegment> {
    let mut end = Script::knowing(usual(), Duration::from_millis(20));
    for segment in segments {
        wait(&mut end, packet(segment));
    }
    let mut other = Script::new(usual());
    other.receive_all(&end.send_all());
    let parse = |packet: &Packet| {
        // Written anew, with the checksum that its receiver's kernel would fill in.
        let segments =
            Segments::of(&packet.ip().expect("a packet"), packet.segment_size).expect("a segment");
        let mut bytes = vec![0; segments.length(0)];
        segments.write(0, &mut bytes);
        TcpSegment::parse(&bytes).expect("a segment").0
    };
    other.packets.iter().map(parse).collect()
}

#[test]
fn the_latest_of_many_waiting_acknowledgements_is_enough() {
    let all: Vec<_> = (1..=50)
        .map(|number| acknowledgment(number * 2_800))
        .collect();
    // The first that wait leave soon anyway.
    let expected = [all[0], all[49]];
    assert_eq!(crosses(&all), expected);
}

#[test]
fn news_is_never_left_out() {
    let first = [acknowledgment(1_000), acknowledgment(2_000)];
    let changed = |change: fn(&mut TcpSegment)| {
        let mut segment = acknowledgment(3_000);
        change(&mut segment);
        segment
    };
    let news = [
        changed(|segment| segment.acknowledgment = SeqNumber(2_000)),
        changed(|segment| segment.acknowledgment = SeqNumber(1_500)),
        changed(|segment| segment.flags = TcpFlags::ACK | TcpFlags::PSH),
        changed(|segment| segment.flags = TcpFlags::ACK | TcpFlags::FIN),
        changed(|segment| segment.payload = 1),
        changed(|segment| segment.sequence = SeqNumber(78)),
        changed(|segment| segment.options.air_loss = AirLoss::Next),
        changed(|segment| segment.options.timestamps = Some(Timestamps { value: 1, echo: 2 })),
        changed(|segment| {
            let (start, end) = (SeqNumber(4_000), SeqNumber(5_000));
            segment.options.sack.push(SeqRange { start, end });
        }),
    ];
    for (number, segment) in news.into_iter().enumerate() {
        let sent = [first[0], first[1], segment];
        assert_eq!(crosses(&sent), sent, "{segment:?}");
        // Nor what waits already, by an acknowledgement that comes later; but the first two are no news then.
        if number < 2 {
            continue;
        }
        let sent = [first[0], segment, acknowledgment(9_000)];
        assert_eq!(crosses(&sent), sent, "{segment:?}");
    }
}

#[test]
fn acknowledgements_with_timestamps_are_plain_too() {
    let all: Vec<_> = (1..=5)
        .map(|number| {
            let mut segment = acknowledgment(number * 2_800);
            let (value, echo) = (number, number);
            segment.options.timestamps = Some(Timestamps { value, echo });
            segment
        })
        .collect();
    assert_eq!(crosses(&all), [all[0], all[4]]);
}

/// One whose checksum is wrong says nothing to its receiver.
#[test]
fn a_corrupt_acknowledgement_replaces_none() {
    let mut end = Script::knowing(usual(), Duration::from_millis(20));
    for number in [1_000, 2_000, 3_000] {
        let mut packet = packet(&acknowledgment(number));
        packet.checksum = Checksum::Unverified;
        wait(&mut end, packet);
    }
    let mut other = Script::new(usual());
    other.receive_all(&end.send_all());
    assert_eq!(other.packets.len(), 3);
}
