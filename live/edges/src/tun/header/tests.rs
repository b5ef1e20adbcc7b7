use wire::packet::PacketBuffer;

use super::*;

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
fn claims_that_do_not_fit_the_packet_are_odd() {
    let nonsense = || Packet::new(PacketBuffer::copy_of(&[0x45; 40]));
    let beyond = Header {
        flags: NEEDS_CHECKSUM,
        checksum_start: 39,
        ..Header::default()
    };
    assert_eq!(beyond.describe(&mut nonsense()), Err(Odd));
    let train = Header {
        gso_kind: GSO_TCP4,
        segment_size: 1_000,
        ..Header::default()
    };
    assert_eq!(train.describe(&mut nonsense()), Err(Odd));
}
