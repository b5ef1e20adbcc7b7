//! Tests of real packets as segments: written ones can be parsed, changed ones are valid, and no bytes make an agent
//! panic, acknowledge on its own, or hold back data.

use std::net::SocketAddr;

use machine::Machine;
use proptest::prelude::*;
use snoop::{
    Agent, AirLoss, Config, Header, Input, Output, Revision, SackRanges, Segment, SeqRange,
    TcpSegmentOptions, Timestamps,
};
use units::{Bytes, Instant, SeqNumber};
use wire::checksum::{fill_transport_checksum, verify_transport_checksum};
use wire::packet::{Packet, PacketBuffer};
use wire::tcp::TcpFlags;

fn ranges(count: u32) -> SackRanges {
    let mut ranges = SackRanges::default();
    for place in 0..count {
        ranges.push(SeqRange {
            start: SeqNumber(5_000 + place * 3_000),
            end: SeqNumber(6_000 + place * 3_000),
        });
    }
    ranges
}

fn header(source: &str, destination: &str) -> Header {
    Header {
        source: source.parse::<SocketAddr>().expect("an address"),
        destination: destination.parse::<SocketAddr>().expect("an address"),
        sequence: SeqNumber(77),
        acknowledgment: SeqNumber(4_000),
        flags: TcpFlags::ACK,
        window: 501,
        payload: 0,
        options: TcpSegmentOptions {
            timestamps: Some(Timestamps { value: 8, echo: 9 }),
            sack: ranges(2),
            ..TcpSegmentOptions::default()
        },
    }
}

fn versions() -> [Header; 2] {
    [
        header("10.0.0.1:80", "10.0.0.2:4000"),
        header("[fd00::1]:80", "[fd00::2]:4000"),
    ]
}

#[test]
fn what_is_written_reads_back() {
    for mut header in versions() {
        assert_eq!(Packet::acknowledgment(&header).header(), Some(header));
        header.options.sack = SackRanges::default();
        header.options.cause = Some(SeqNumber(9_000));
        header.options.timestamps = None;
        for air_loss in [AirLoss::Next, AirLoss::Ranges(ranges(3))] {
            header.options.air_loss = air_loss;
            assert_eq!(Packet::acknowledgment(&header).header(), Some(header));
        }
        assert!(header.is_negative_acknowledgment());
    }
}

#[test]
fn a_revised_packet_is_sound_and_keeps_the_rest() {
    for header in versions() {
        let mut packet = Packet::acknowledgment(&header);
        let echoed = header.options.timestamps.map(|own| own.value + 1);
        packet.revise(&Revision {
            hide_sack: true,
            hide_cause: true,
            air_loss: Some(AirLoss::Next),
            not_before: echoed,
        });
        let mut expected = header;
        if let Some((own, echoed)) = expected.options.timestamps.as_mut().zip(echoed) {
            own.value = echoed;
        }
        expected.options.sack = SackRanges::default();
        expected.options.air_loss = AirLoss::Next;
        assert_eq!(packet.header(), Some(expected));
        let parsed = packet.ip().unwrap();
        assert!(verify_transport_checksum(&parsed));
        assert_eq!(parsed.bytes().len(), packet.len());
    }
}

#[test]
fn a_wrong_checksum_and_a_super_packet_are_no_segments() {
    for header in versions() {
        let sound = Packet::acknowledgment(&header);
        let mut bytes = sound.to_vec();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let broken = Packet::new(PacketBuffer::copy_of(&bytes));
        assert_eq!(broken.header(), None);
        let mut several = sound.to_vec();
        several.extend([1; 100]);
        let length = several.len() as u16;
        if several[0] >> 4 == 4 {
            several[2..4].copy_from_slice(&length.to_be_bytes());
        } else {
            several[4..6].copy_from_slice(&(length - 40).to_be_bytes());
        }
        fill_transport_checksum(&mut several).unwrap();
        let mut packet = Packet::new(PacketBuffer::copy_of(&several));
        assert!(packet.header().is_some());
        packet.segment_size = 50;
        assert_eq!(packet.header(), None);
    }
}

/// Returns a packet of one connection, in either direction; small numbers so that they meet.
fn packet(from_mobile: bool, (sequence, ack, kind): (u8, u8, u8), payload: u8) -> Packet {
    let [mut header, _] = versions();
    if from_mobile {
        std::mem::swap(&mut header.source, &mut header.destination);
    }
    header.sequence = SeqNumber(u32::from(sequence) * 16);
    header.acknowledgment = SeqNumber(u32::from(ack) * 16);
    header.options.sack = ranges(0);
    if kind & 1 != 0 {
        header.options.sack.push(SeqRange {
            start: header.acknowledgment + 16,
            end: header.acknowledgment + u32::from(kind),
        });
    }
    let flags = [TcpFlags::NONE, TcpFlags::FIN, TcpFlags::SYN, TcpFlags::RST];
    header.flags = TcpFlags::ACK | flags[usize::from(kind.saturating_sub(250)) % 4];
    let mut bytes = Packet::acknowledgment(&header).to_vec();
    bytes.resize(bytes.len() + usize::from(payload), payload);
    let length = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    fill_transport_checksum(&mut bytes).expect("a packet");
    Packet::new(PacketBuffer::copy_of(&bytes))
}

proptest! {
    #[test]
    fn the_agent_keeps_its_promises(
        steps in prop::collection::vec(
            (any::<bool>(), any::<(u8, u8, u8)>(), 0..40_u8, 0..300_u64),
            0..300,
        ),
    ) {
        let mut config = Config::live();
        config.limits.bytes = Bytes::new(8_192);
        let mut agent = Agent::new(config);
        let mut now = Instant::ZERO;
        let mut acknowledged = Vec::new();
        for (from_mobile, numbers, payload, wait) in steps {
            now += units::Duration::from_millis(wait);
            agent.handle_timeout(now);
            while agent.poll_output().is_some() {}
            let packet = packet(from_mobile, numbers, payload);
            let original = packet.header();
            let carries = original.is_some_and(|header| header.payload > 0);
            let input = if from_mobile {
                acknowledged.extend(original.map(|header| header.acknowledgment));
                Input::FromMobile(packet.clone())
            } else {
                Input::FromFixed(packet.clone())
            };
            agent.handle_input(now, input);
            let mut went_on = false;
            while let Some(output) = agent.poll_output() {
                match output {
                    Output::ToFixed(sent) => {
                        let header = sent.header().expect("what goes on is sound");
                        // R2: nothing is acknowledged that the mobile host did not.
                        prop_assert!(acknowledged.contains(&header.acknowledgment));
                        went_on |= from_mobile;
                    }
                    Output::ToMobile { packet: sent, priority } => {
                        went_on |= !from_mobile && !priority && *sent == *packet;
                    }
                }
            }
            // Data from the mobile host are always forwarded.
            prop_assert!(went_on || !(from_mobile && carries));
            prop_assert!(agent.cached_bytes() <= 8_192);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let mut agent = Agent::new(Config::live());
        for version in [0x45, 0x60] {
            let mut bytes = bytes.clone();
            if let [first, .., _] = &mut bytes[..] {
                *first = version;
            }
            let packet = Packet::new(PacketBuffer::copy_of(&bytes));
            agent.handle_input(Instant::ZERO, Input::FromFixed(packet.clone()));
            let packet_again = match agent.poll_output() {
                Some(Output::ToMobile { packet, .. }) => packet,
                other => panic!("it goes on: {other:?}"),
            };
            prop_assert_eq!(packet_again, packet);
        }
    }
}
