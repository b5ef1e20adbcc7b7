//! A segment as a value: encoding and parsing are inverse.

use std::net::SocketAddrV4;

use proptest::prelude::*;
use units::SeqNumber;
use wire::TcpSegment;
use wire::checksum::fill_transport_checksum;
use wire::ip::{IpPacket, Transport};
use wire::packet::{Packet, PacketBuffer};
use wire::tcp::{
    AirLoss, NoTcpSegment, OptionBytes, SackRanges, SeqRange, TcpFlags, TcpSegmentOptions,
    Timestamps,
};

use super::samples::{self, bytes, with_payload};

fn ranges(most: usize) -> impl Strategy<Value = SackRanges> {
    prop::collection::vec(any::<(u32, u32)>(), 0..=most).prop_map(|pairs| {
        let range = |(start, end)| SeqRange {
            start: SeqNumber(start),
            end: SeqNumber(end),
        };
        pairs.into_iter().map(range).collect()
    })
}

fn options() -> impl Strategy<Value = TcpSegmentOptions> {
    let air_loss = prop_oneof![
        Just(AirLoss::None),
        Just(AirLoss::Next),
        ranges(4).prop_map(AirLoss::Ranges),
    ];
    let syn = any::<(Option<u16>, Option<u8>, bool)>();
    let stamps = any::<Option<(u32, u32)>>();
    let cause = any::<Option<u32>>();
    (syn, stamps, ranges(4), cause, air_loss).prop_map(|(syn, stamps, sack, cause, air_loss)| {
        TcpSegmentOptions {
            maximum_segment_size: syn.0,
            window_scale: syn.1,
            sack_permitted: syn.2,
            timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
            sack,
            cause: cause.map(SeqNumber),
            air_loss,
        }
    })
}

fn segments() -> impl Strategy<Value = TcpSegment> {
    let ends = any::<(u32, u16, u32, u16)>();
    let numbers = any::<(u32, u32, u8, u16)>();
    (ends, numbers, 0..2_000_u16, options()).prop_map(|(ends, numbers, payload, options)| {
        TcpSegment {
            source: SocketAddrV4::new(ends.0.into(), ends.1),
            destination: SocketAddrV4::new(ends.2.into(), ends.3),
            sequence: SeqNumber(numbers.0),
            acknowledgment: SeqNumber(numbers.1),
            flags: TcpFlags(numbers.2),
            window: numbers.3,
            payload,
            options,
        }
    })
}

fn encoded(segment: &TcpSegment) -> Vec<u8> {
    let mut bytes = vec![0xaa; segment.packet_length()];
    segment.encode(&mut bytes);
    bytes
}

/// Returns true if `read` has the options of `written` that fit: ranges are left out from the end of their list, and
/// other options as a whole.
fn is_what_found_room(read: &TcpSegmentOptions, written: &TcpSegmentOptions) -> bool {
    let begins =
        |read: &SackRanges, written: &SackRanges| written.as_slice().starts_with(read.as_slice());
    let air_loss = match (&read.air_loss, &written.air_loss) {
        (AirLoss::Ranges(read), AirLoss::Ranges(written)) => begins(read, written),
        (AirLoss::None, _) => true,
        (read, written) => read == written,
    };
    let cause = read.cause.is_none() || read.cause == written.cause;
    let rest = TcpSegmentOptions {
        sack: written.sack,
        cause: written.cause,
        air_loss: written.air_loss,
        ..*read
    };
    rest == *written && begins(&read.sack, &written.sack) && cause && air_loss
}

proptest! {
    #[test]
    fn what_is_written_reads_back(segment in segments()) {
        let bytes = encoded(&segment);
        let (read, in_place) = TcpSegment::parse(&bytes).unwrap();
        prop_assert!(in_place);
        prop_assert!(is_what_found_room(&read.options, &segment.options));
        prop_assert_eq!(TcpSegment { options: segment.options, ..read }, segment);
        prop_assert_eq!(OptionBytes::of(&segment.options).bytes().len(), segment.options.length());
        // The options that were read fit by themselves, to the last bit.
        prop_assert_eq!(TcpSegment::parse(&encoded(&read)), Ok((read, true)));
    }

    #[test]
    fn a_changed_byte_is_seen(segment in segments(), place in any::<prop::sample::Index>(), change in 1_u8..) {
        let mut bytes = encoded(&segment);
        let place = place.index(bytes.len());
        bytes[place] ^= change;
        prop_assert_ne!(TcpSegment::parse(&bytes), TcpSegment::parse(&encoded(&segment)));
    }

    #[test]
    fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        if let [first, ..] = &mut bytes[..] {
            *first = 0x45;
        }
        let _ = TcpSegment::parse(&bytes);
    }
}

#[test]
fn a_kernels_segment_is_a_value() {
    let (segment, in_place) = TcpSegment::parse(&bytes(samples::SYN_V4)).unwrap();
    assert!(in_place, "there are no data");
    assert_eq!(segment.flags, TcpFlags::SYN);
    assert_eq!((segment.payload, segment.sequence_length()), (0, 1));
    assert_eq!(segment.options.maximum_segment_size, Some(1_460));
    assert_eq!(segment.options.window_scale, Some(10));
    assert_eq!(segment.packet_length(), bytes(samples::SYN_V4).len());
}

#[test]
fn data_in_a_wrong_place_are_seen() {
    let (mut segment, _) = TcpSegment::parse(&bytes(samples::SYN_V4)).unwrap();
    (segment.flags, segment.payload) = (TcpFlags::ACK, 500);
    let mut moved = encoded(&segment);
    moved[27] ^= 1; // the last byte of the sequence number
    fill_transport_checksum(&mut moved).unwrap();
    let (read, in_place) = TcpSegment::parse(&moved).unwrap();
    assert_eq!(read.sequence.0 ^ 1, segment.sequence.0);
    assert!(!in_place);
}

#[test]
fn says_what_is_no_segment() {
    let problem = |packet: &[u8]| TcpSegment::parse(packet).unwrap_err();
    for other in [samples::SYN_V6, samples::DNS_V4, samples::PING_V4] {
        assert_eq!(problem(&bytes(other)), NoTcpSegment::Other);
    }
    let fragment = with_payload(samples::FIRST_FRAGMENT_V4);
    assert_eq!(problem(&fragment), NoTcpSegment::Other);
    for (place, header) in [(8, "IPv4"), (30, "TCP")] {
        let mut changed = bytes(samples::SYN_V4);
        changed[place] ^= 1;
        assert_eq!(problem(&changed), NoTcpSegment::Checksum(header));
    }
    assert!(matches!(problem(&[]), NoTcpSegment::Malformed(_)));
}

#[test]
fn an_option_without_a_place_is_reported() {
    let mut packet = bytes(samples::SYN_V4);
    packet[40] = 34; // fast open, where the segment size was
    let parsed = IpPacket::parse(&packet).unwrap();
    let Transport::Tcp(tcp) = parsed.transport() else {
        panic!("not TCP")
    };
    let (options, others) = TcpSegmentOptions::read(&tcp).unwrap();
    assert!(others && options.maximum_segment_size.is_none());
    assert!(options.sack_permitted);
}

proptest! {
    #[test]
    fn a_head_is_the_beginning_of_the_packet(segment in segments(), most in 0..200_usize) {
        let whole = encoded(&segment);
        let length = most.min(whole.len());
        let mut head = vec![0xaa; length];
        segment.encode_head(&mut head);
        let mut expected = whole.clone();
        if length < whole.len() {
            let mut packet = Packet::new(PacketBuffer::copy_of(&whole));
            packet.store_pseudo_header_checksum().expect("our own packet");
            expected.copy_from_slice(&packet);
        }
        prop_assert_eq!(&head, &expected[..length]);
    }
}

proptest! {
    /// Data from any position on, also across the wrap, and detection of a misplaced byte.
    #[test]
    fn data_follow_from_their_place(mut segment in segments(), end in 0..1_000_u32, at_end: bool) {
        if at_end {
            segment.sequence = SeqNumber(0_u32.wrapping_sub(end));
        }
        let mut bytes = encoded(&segment);
        let data = bytes.len() - usize::from(segment.payload);
        let start = segment.payload_range().start;
        let places = (0..).map(|offset| TcpSegment::content(start + offset));
        prop_assert!(bytes[data..].iter().copied().eq(places.take(segment.payload.into())));
        if segment.payload >= 8 {
            bytes.rotate_right(1);
            bytes[..data].copy_from_slice(&encoded(&segment)[..data]);
            fill_transport_checksum(&mut bytes).expect("our own packet");
            let (_, intact) = TcpSegment::parse(&bytes).expect("our own packet");
            prop_assert!(!intact);
        }
    }
}
