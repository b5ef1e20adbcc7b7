//! The header of captured frames: the document's vectors.

use wire::capture::{CaptureDirection, CaptureHeader, CaptureKind};
use wire::ip::Ecn;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    let digit = |b: &u8| char::from(*b).to_digit(16).expect("a digit") as u8;
    digits
        .chunks(2)
        .map(|pair| digit(&pair[0]) << 4 | digit(&pair[1]))
        .collect()
}

#[test]
fn the_documents_vectors_hold() {
    let document = include_str!("../../../../docs/hop-frame.md");
    let header = |address: &str| CaptureHeader {
        kind: CaptureKind::Plaintext,
        direction: CaptureDirection::Outbound,
        ecn: Ecn::Capable0,
        association: 1,
        address: address.parse().ok(),
        peer: "tablet7",
    };
    let unknown = CaptureHeader {
        kind: CaptureKind::Datagram,
        direction: CaptureDirection::Inbound,
        ecn: Ecn::NotCapable,
        association: 0,
        peer: "",
        ..header("")
    };
    let headers = [
        header("192.0.2.1:51830"),
        header("[2001:db8::1]:51830"),
        header("02:00:5e:10:00:01"),
        unknown,
    ];
    let written = headers.map(|header| {
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        bytes
    });
    let vectors: Vec<Vec<u8>> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| header ")?.split('`').nth(1).map(hex))
        .collect();
    assert_eq!(written.to_vec(), vectors);
}

#[test]
fn a_name_that_is_too_long_is_cut() {
    let header = CaptureHeader {
        kind: CaptureKind::Plaintext,
        direction: CaptureDirection::Inbound,
        ecn: Ecn::NotCapable,
        association: 0,
        address: None,
        peer: &"n".repeat(300),
    };
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    assert_eq!((bytes[9], bytes.len()), (255, 10 + 255));
}
