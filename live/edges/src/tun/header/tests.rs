use proptest::prelude::*;
use wire::checksum::{fill_transport_checksum, verify_transport_checksum};
use wire::packet::PacketBuffer;

use super::*;

/// Returns an IPv4 packet of `protocol` with `payload` bytes after a header of 20 bytes for TCP, 8 for UDP.
fn packet(protocol: u8, payload: usize) -> Packet {
    let mut bytes = vec![0; 20];
    bytes[0] = 0x45;
    bytes[8..10].copy_from_slice(&[64, protocol]);
    bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    if protocol == 6 {
        bytes.resize(40, 0);
        bytes[32] = 0x50;
    } else {
        bytes.resize(28, 0);
        bytes[24..26].copy_from_slice(&((8 + payload) as u16).to_be_bytes());
    }
    bytes.resize(bytes.len() + payload, 0xa5);
    let total = (bytes.len() as u16).to_be_bytes();
    bytes[2..4].copy_from_slice(&total);
    fill_transport_checksum(&mut bytes).expect("a packet");
    Packet::new(PacketBuffer::copy_of(&bytes))
}

#[test]
fn a_header_reads_what_it_wrote() {
    let header = Header {
        flags: 1,
        gso_kind: 4,
        headers: 60,
        segment_size: 1_440,
        checksum_start: 40,
        checksum_offset: 16,
    };
    assert_eq!(Header::parse(header.bytes()), header);
}

#[test]
fn a_packet_that_stands_for_many_is_described_and_comes_back() {
    for (protocol, kind, headers, offset) in [(6, GSO_TCP4, 40, 16), (17, GSO_UDP, 28, 6)] {
        let mut sent = packet(protocol, 5_000);
        sent.segment_size = 1_000;
        let header = Header::for_packet(&mut sent).expect("described");
        let expected = Header {
            flags: NEEDS_CHECKSUM,
            gso_kind: kind,
            headers,
            segment_size: 1_000,
            checksum_start: 20,
            checksum_offset: offset,
        };
        assert_eq!(header, expected);
        let mut received = Packet::new(PacketBuffer::copy_of(&sent));
        header.describe(&mut received).expect("not odd");
        assert_eq!(received, sent);
        // A partial checksum stays as it is.
        assert_eq!(Header::for_packet(&mut received), Ok(header));
        assert_eq!(received, sent);
    }
}

#[test]
fn a_packet_of_one_segment_is_a_plain_packet() {
    let mut one = packet(6, 900);
    one.segment_size = 1_000;
    assert_eq!(Header::for_packet(&mut one), Ok(Header::default()));
}

#[test]
fn a_partial_checksum_that_only_the_kernel_knows_is_completed() {
    // The sum starts in the payload: it is completed there, and nothing is left to do.
    let mut odd_place = packet(17, 100);
    let header = Header {
        flags: NEEDS_CHECKSUM,
        checksum_start: 40,
        checksum_offset: 6,
        ..Header::default()
    };
    header
        .describe(&mut odd_place)
        .expect("inside of the packet");
    assert_eq!(odd_place.checksum, Checksum::Verified);

    let mut valid = packet(17, 100);
    let header = Header {
        flags: DATA_VALID,
        ..Header::default()
    };
    header.describe(&mut valid).expect("not odd");
    assert_eq!(valid.checksum, Checksum::Verified);
    assert!(verify_transport_checksum(&valid.ip().expect("a packet")));
}

#[test]
fn claims_that_do_not_fit_the_packet_are_odd() {
    let nonsense = || Packet::new(PacketBuffer::copy_of(&[0x45; 40]));
    let beyond = Header {
        flags: NEEDS_CHECKSUM,
        checksum_start: 39,
        ..Header::default()
    };
    assert_eq!(beyond.describe(&mut nonsense()), Err(InvalidHeader));
    let train = Header {
        gso_kind: GSO_TCP4,
        segment_size: 1_000,
        ..Header::default()
    };
    assert_eq!(train.describe(&mut nonsense()), Err(InvalidHeader));
    assert_eq!(train.describe(&mut packet(17, 5_000)), Err(InvalidHeader));
    let empty = Header {
        gso_kind: GSO_UDP,
        ..Header::default()
    };
    assert_eq!(empty.describe(&mut packet(17, 5_000)), Err(InvalidHeader));
}

proptest! {
    #[test]
    fn no_header_and_no_packet_make_it_panic(
        header in any::<[u8; LENGTH]>(),
        bytes in prop::collection::vec(any::<u8>(), 1..200),
        segment_size in any::<u16>(),
    ) {
        let mut packet = Packet::new(PacketBuffer::copy_of(&bytes));
        let _ = Header::parse(header).describe(&mut packet);
        packet.segment_size = segment_size;
        let _ = Header::for_packet(&mut packet);
    }
}
