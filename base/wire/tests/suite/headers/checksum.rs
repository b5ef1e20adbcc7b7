//! Sums against a naive one, and checksums that stay right through changes in place.

use proptest::prelude::*;
use wire::checksum::{
    PartialChecksum, Sum, complete_partial_checksum, fill_transport_checksum, updated,
    verify_transport_checksum,
};
use wire::ip::{IpPacket, Transport};
use wire::malformed::Malformed;
use wire::packet::{Checksum, Packet, PacketBuffer};
use wire::tcp::{TcpOption, TcpSegmentOptions};

use super::samples::{self, bytes, carrying};

/// RFC 1071 §1, word by word.
fn naive(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for word in bytes.chunks(2) {
        sum += u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn is_valid(packet: &[u8]) -> bool {
    verify_transport_checksum(&IpPacket::parse(packet).unwrap())
}

fn make_partial(bytes: &mut [u8]) -> PartialChecksum {
    let mut packet = Packet::new(PacketBuffer::copy_of(bytes));
    let place = packet.store_pseudo_header_checksum().unwrap();
    bytes.copy_from_slice(&packet);
    place
}

/// Lowers the maximum segment size, where the checksum is known to be so.
fn clamp(bytes: &mut [u8], limit: u16, checksum: Checksum) -> Result<bool, Malformed> {
    let mut packet = Packet::new(PacketBuffer::copy_of(bytes)).with_checksum(checksum);
    let clamped = packet.clamp_maximum_segment_size(limit);
    bytes.copy_from_slice(&packet);
    clamped
}

fn maximum_segment_size(packet: &[u8]) -> Option<u16> {
    let Transport::Tcp(tcp) = IpPacket::parse(packet).unwrap().transport() else {
        return None;
    };
    tcp.options().find_map(|option| match option {
        Ok(TcpOption::MaximumSegmentSize(size)) => Some(size),
        _ => None,
    })
}

#[test]
fn sums_the_example_of_the_rfc() {
    let example = bytes("0001f203f4f5f6f7");
    assert_eq!(Sum::of(&example).folded(), 0xddf2);
    assert_eq!(Sum::of(&example).checksum(), 0x220d);
}

#[test]
fn filling_finds_what_the_kernel_sent() {
    for text in samples::WHOLE {
        let golden = bytes(text);
        let mut packet = golden.clone();
        let place = make_partial(&mut packet);
        assert_ne!(packet, golden, "{text}");
        let mut filled = packet.clone();
        fill_transport_checksum(&mut filled).unwrap();
        assert_eq!(filled, golden, "{text}");
        complete_partial_checksum(&mut packet, place).unwrap();
        assert_eq!(packet, golden, "{text}");
    }
}

#[test]
fn a_partial_checksum_outside_of_the_packet_is_an_error() {
    let mut packet = bytes(samples::SYN_V4);
    for (start, offset) in [(20, 39), (60, 0), (61, 0), (u16::MAX, u16::MAX)] {
        let place = PartialChecksum { start, offset };
        let error = complete_partial_checksum(&mut packet, place).unwrap_err();
        assert!(
            matches!(error, Malformed::ChecksumPlace { available: 60, .. }),
            "{error}"
        );
    }
}

#[test]
fn a_datagram_without_checksum_is_valid_over_ipv4_only() {
    let (mut v4, mut v6) = (bytes(samples::DNS_V4), bytes(samples::DNS_V6));
    v4[26..28].fill(0);
    v6[46..48].fill(0);
    assert!(is_valid(&v4) && !is_valid(&v6));
}

#[test]
fn a_checksum_of_zero_is_written_as_its_other_form() {
    // A payload that makes the sum 0xffff: the checksum that was there before.
    let mut packet = carrying(samples::DNS_V4, 28, &[0, 0]);
    let checksum = [packet[26], packet[27]];
    packet[28..30].copy_from_slice(&checksum);
    fill_transport_checksum(&mut packet).unwrap();
    assert_eq!(packet[26..28], [0xff, 0xff]);
    assert!(is_valid(&packet));
}

#[test]
fn clamping_lowers_only_a_larger_size() {
    for text in [samples::SYN_V4, samples::SYN_V6] {
        let mut packet = bytes(text);
        let before = packet.clone();
        for limit in [1460, 9000] {
            assert!(!clamp(&mut packet, limit, Checksum::Unverified).unwrap());
        }
        assert_eq!(packet, before);
        assert!(clamp(&mut packet, 1220, Checksum::Unverified).unwrap());
        assert_eq!(maximum_segment_size(&packet), Some(1220));
        assert!(is_valid(&packet));
    }
}

#[test]
fn clamping_works_at_an_odd_place() {
    let mut packet = bytes(samples::SYN_V4);
    // One byte of padding before the option; it takes the place of "SACK permitted".
    packet[40..46].copy_from_slice(&[1, 2, 4, 0x05, 0xb4, 1]);
    fill_transport_checksum(&mut packet).unwrap();
    assert!(clamp(&mut packet, 1001, Checksum::Verified).unwrap());
    assert_eq!(maximum_segment_size(&packet), Some(1001));
    assert!(is_valid(&packet));
}

#[test]
fn clamping_leaves_a_partial_checksum_partial() {
    let mut packet = bytes(samples::SYN_V6);
    let place = make_partial(&mut packet);
    assert!(clamp(&mut packet, 1220, Checksum::Partial).unwrap());
    complete_partial_checksum(&mut packet, place).unwrap();
    assert!(is_valid(&packet));
}

#[test]
fn clamping_neither_repairs_a_checksum_nor_touches_other_packets() {
    let mut packet = bytes(samples::SYN_V4);
    packet[36] ^= 0x40;
    assert!(clamp(&mut packet, 1220, Checksum::Unverified).unwrap());
    assert!(!is_valid(&packet));
    let mut acknowledgment = bytes(samples::SYN_V4);
    acknowledgment[33] = 0x10;
    assert!(!clamp(&mut acknowledgment, 1, Checksum::Unverified).unwrap());
}

fn clock(packet: &[u8]) -> Option<u32> {
    let Transport::Tcp(tcp) = IpPacket::parse(packet).unwrap().transport() else {
        return None;
    };
    let options = TcpSegmentOptions::read(&tcp).unwrap().0;
    options.timestamps.map(|timestamps| timestamps.value)
}

#[test]
fn only_an_earlier_timestamp_is_raised() {
    let golden = bytes(samples::SYN_V4);
    let value = clock(&golden).unwrap();
    for (least, raised) in [(0, true), (1, true), (70_000, true), (u32::MAX, false)] {
        let least = value.wrapping_add(least);
        let mut packet = Packet::new(PacketBuffer::copy_of(&golden));
        assert_eq!(packet.raise_timestamp(least), raised);
        let after = if raised { least } else { value };
        assert_eq!(clock(&packet), Some(after));
        assert!(is_valid(&packet));
    }
    let mut datagram = Packet::new(PacketBuffer::copy_of(&bytes(samples::DNS_V4)));
    assert!(!datagram.raise_timestamp(1));
}

#[test]
fn a_timestamp_is_raised_at_an_odd_place_and_beside_a_partial_checksum() {
    let mut segment = bytes(samples::SYN_V4);
    segment[40..51].copy_from_slice(&[1, 8, 10, 0, 1, 2, 3, 0, 0, 0, 0]);
    segment[51..60].fill(0);
    fill_transport_checksum(&mut segment).unwrap();
    let mut packet = Packet::new(PacketBuffer::copy_of(&segment));
    assert!(packet.raise_timestamp(0x7071_7273));
    assert_eq!(clock(&packet), Some(0x7071_7273));
    assert!(is_valid(&packet));
    let mut packet = Packet::new(PacketBuffer::copy_of(&segment));
    let place = packet.store_pseudo_header_checksum().unwrap();
    assert!(packet.raise_timestamp(0x7071_7273));
    packet.complete_checksum(place).unwrap();
    assert!(is_valid(&packet));
}

#[test]
fn a_malformed_option_ends_the_options() {
    for (options, kind, length) in [
        ("0203", 2, 3),
        ("0200", 2, 0),
        ("0801", 8, 1),
        ("0509", 5, 9),
        ("fe7f", 254, 127),
    ] {
        let mut packet = bytes(samples::SYN_V4);
        packet[40..42].copy_from_slice(&bytes(options));
        let Transport::Tcp(tcp) = IpPacket::parse(&packet).unwrap().transport() else {
            panic!("{options}")
        };
        let read: Vec<_> = tcp.options().collect();
        assert_eq!(read, [Err(Malformed::OptionLength { kind, length })]);
        assert!(clamp(&mut packet, 1, Checksum::Verified).is_err());
    }
}

proptest! {
    #[test]
    fn sums_like_the_naive_one(data in prop::collection::vec(any::<u8>(), 0..5000)) {
        prop_assert_eq!(Sum::of(&data).folded(), naive(&data));
    }

    #[test]
    fn parts_sum_up_to_the_whole(
        data in prop::collection::vec(any::<u8>(), 0..300),
        cut in any::<prop::sample::Index>(),
    ) {
        let cut = cut.index(data.len() + 1);
        let (front, back) = (Sum::of(&data[..cut]), Sum::of(&data[cut..]));
        let whole = front + if cut % 2 == 0 { back } else { back.at_odd_offset() };
        prop_assert_eq!(whole.folded(), naive(&data));
    }

    #[test]
    fn an_update_equals_a_new_sum(
        mut data in prop::collection::vec(any::<u8>(), 2..100),
        new in any::<u16>(),
    ) {
        data.push(1);
        let before = Sum::of(&data).checksum();
        let old = u16::from_be_bytes([data[0], data[1]]);
        data[..2].copy_from_slice(&new.to_be_bytes());
        prop_assert_eq!(updated(before, old, new), Sum::of(&data).checksum());
    }

    #[test]
    fn clamping_keeps_the_checksum_valid(limit in any::<u16>(), size in any::<u16>(), odd: bool) {
        let mut packet = bytes(samples::SYN_V4);
        let [high, low] = size.to_be_bytes();
        let options = if odd { [1, 2, 4, high, low, 1] } else { [2, 4, high, low, 1, 1] };
        packet[40..46].copy_from_slice(&options);
        fill_transport_checksum(&mut packet).unwrap();
        clamp(&mut packet, limit, Checksum::Unverified).unwrap();
        prop_assert_eq!(maximum_segment_size(&packet), Some(size.min(limit)));
        prop_assert!(is_valid(&packet));
    }
}
