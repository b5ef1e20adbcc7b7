//! Tests of segments as values: the agent treats one as it treats its packet.

use std::net::SocketAddrV4;

use machine::Machine;
use proptest::prelude::*;
use snoop::{Agent, Config, Input, Output, Segment};
use units::{Duration, Instant, SeqNumber};
use wire::TcpSegment;
use wire::packet::{Packet, PacketBuffer};
use wire::tcp::{AirLoss, SackRanges, SeqRange, TcpFlags, TcpSegmentOptions, Timestamps};

fn segment(from_mobile: bool, sequence: u32, acknowledgment: u32, payload: u16) -> TcpSegment {
    let mobile = SocketAddrV4::new([10, 2, 0, 2].into(), 4_000);
    let fixed = SocketAddrV4::new([10, 1, 0, 1].into(), 80);
    let (source, destination) = if from_mobile {
        (mobile, fixed)
    } else {
        (fixed, mobile)
    };
    TcpSegment {
        source,
        destination,
        sequence: SeqNumber(sequence),
        acknowledgment: SeqNumber(acknowledgment),
        flags: TcpFlags::ACK,
        window: 32_000,
        payload,
        options: TcpSegmentOptions::default(),
    }
}

fn packet(segment: &TcpSegment) -> Packet {
    let mut bytes = vec![0; segment.packet_length()];
    segment.encode(&mut bytes);
    Packet::new(PacketBuffer::copy_of(&bytes))
}

fn value(packet: &Packet) -> TcpSegment {
    let (segment, in_place) = TcpSegment::parse(packet).expect("a segment");
    assert!(in_place, "data that are not those of their place");
    segment
}

fn value_of_output(output: Output<Packet>) -> Output<TcpSegment> {
    match output {
        Output::ToMobile { packet, priority } => Output::ToMobile {
            packet: value(&packet),
            priority,
        },
        Output::ToFixed(packet) => Output::ToFixed(value(&packet)),
    }
}

#[test]
fn a_header_and_its_acknowledgement_read_back() {
    let mut sent = segment(true, 77, 4_000, 0);
    sent.options.timestamps = Some(Timestamps { value: 8, echo: 9 });
    sent.options.air_loss = AirLoss::Next;
    let header = sent.header().expect("a segment is one");
    assert_eq!(TcpSegment::acknowledgment(&header), sent);
    assert_eq!(packet(&sent).header(), Some(header));
    assert_eq!(sent.cost(), 40 + 16);
}

/// Differences between one step of the traffic and the next.
type Step = (bool, (u8, u8, u8), u8, u64);

fn made_of((from_mobile, (sequence, ack, kind), payload, _): Step) -> TcpSegment {
    let number = |places: u8| u32::from(places) * 16;
    let mut segment = segment(from_mobile, number(sequence), number(ack), payload.into());
    if kind & 1 != 0 {
        let start = segment.acknowledgment + 16;
        segment.options.sack = SackRanges::from_iter([SeqRange::of(start, kind.into())]);
    }
    if kind & 2 != 0 {
        segment.options.cause = Some(segment.acknowledgment + 32);
    }
    segment
}

proptest! {
    #[test]
    fn a_value_is_treated_like_its_packet(
        steps in prop::collection::vec(
            (any::<bool>(), any::<(u8, u8, u8)>(), 0..40_u8, 0..300_u64), 0..200,
        ),
    ) {
        let mut values = Agent::new(Config::live());
        let mut packets = Agent::new(Config::live());
        let mut now = Instant::ZERO;
        for step in steps {
            now += Duration::from_millis(step.3);
            values.handle_timeout(now);
            packets.handle_timeout(now);
            let segment = made_of(step);
            let packet = packet(&segment);
            if step.0 {
                values.handle_input(now, Input::FromMobile(segment));
                packets.handle_input(now, Input::FromMobile(packet));
            } else {
                values.handle_input(now, Input::FromFixed(segment));
                packets.handle_input(now, Input::FromFixed(packet));
            }
            while let Some(output) = packets.poll_output() {
                prop_assert_eq!(values.poll_output(), Some(value_of_output(output)));
            }
            prop_assert_eq!(values.poll_output(), None);
        }
        prop_assert_eq!(values.counters(), packets.counters());
    }
}
