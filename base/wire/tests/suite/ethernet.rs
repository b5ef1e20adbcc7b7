//! The hop's datagram in an Ethernet frame: the document's vectors, padding, and no panic on any bytes.

use proptest::prelude::*;
use wire::address::HopAddress;
use wire::ethernet::{
    ETHER_TYPE, HEADER_BYTES, MacAddress, MalformedPayload, datagram_in, length_of,
};

/// The shortest frame without its checksum, in bytes; a shorter one is padded.
const SHORTEST: usize = 60;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    let digit = |b: &u8| char::from(*b).to_digit(16).expect("a digit") as u8;
    digits
        .chunks(2)
        .map(|pair| digit(&pair[0]) << 4 | digit(&pair[1]))
        .collect()
}

/// A frame as a card sends it, padded with `filling`.
fn frame(to: &str, from: &str, datagram: &[u8], filling: u8) -> Vec<u8> {
    let address = |text: &str| text.parse::<MacAddress>().expect("an address").0;
    let mut frame = [address(to), address(from)].concat();
    frame.extend(ETHER_TYPE.to_be_bytes());
    frame.extend(length_of(datagram).expect("a length"));
    frame.extend(datagram);
    frame.resize(frame.len().max(SHORTEST), filling);
    frame
}

#[test]
fn the_documents_vectors_hold() {
    let document = include_str!("../../../../docs/hop-frame.md");
    let confirmation = hex("041313131300000000943adfba64611d725672dafc8a0544d4");
    let long: Vec<u8> = (0..50).collect();
    let (one, from, all) = (
        "02:00:5e:10:00:01",
        "02:00:5e:10:00:02",
        "ff:ff:ff:ff:ff:ff",
    );
    let written = [
        frame(one, from, &confirmation, 0),
        frame(all, from, &long, 0),
    ];
    let vectors: Vec<Vec<u8>> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| Ethernet ")?.split('`').nth(1).map(hex))
        .collect();
    assert_eq!(written.to_vec(), vectors);
    for (mut vector, datagram) in vectors.into_iter().zip([confirmation, long]) {
        assert_eq!(
            datagram_in(&mut vector[HEADER_BYTES..]),
            Ok(&mut datagram.clone()[..])
        );
    }
}

#[test]
fn padding_is_no_part_of_the_datagram() {
    for length in 0..100 {
        let datagram: Vec<u8> = (0..length).collect();
        let mut frame = frame("02:00:00:00:00:01", "02:00:00:00:00:02", &datagram, 0xa5);
        assert_eq!(
            datagram_in(&mut frame[HEADER_BYTES..]),
            Ok(&mut datagram.clone()[..])
        );
    }
}

#[test]
fn a_length_beyond_the_payload_is_malformed() {
    let wrong = |claimed, available| Err(MalformedPayload { claimed, available });
    assert_eq!(datagram_in(&mut []), wrong(0, 0));
    assert_eq!(datagram_in(&mut [0]), wrong(0, 1));
    assert_eq!(datagram_in(&mut [0, 2, 7]), wrong(2, 3));
    assert_eq!(datagram_in(&mut [0xff, 0xff]), wrong(65_535, 2));
    assert_eq!(length_of(&vec![0; 65_536]), None);
}

#[test]
fn addresses_are_read_as_they_are_written() {
    for text in [
        "02:00:5e:10:00:01",
        "192.0.2.1:51830",
        "[2001:db8::1]:51830",
        "tls:192.0.2.1:443",
        "relay:3/7",
    ] {
        let address: HopAddress = text.parse().expect("an address");
        assert_eq!(address.to_string(), text);
        assert!(!address.is_group());
    }
    let dashed: MacAddress = "FF-FF-ff-ff-ff-ff".parse().expect("an address");
    assert_eq!(dashed, MacAddress::BROADCAST);
    assert!(HopAddress::EVERYBODY.is_group());
    for text in [
        "",
        "02:00:5e:10:00",
        "02:00:5e:10:00:01:02",
        "2:0:5e:10:0:1",
        "+2:00:5e:10:00:01",
        "relay:3",
        "relay:3/x",
    ] {
        let error = text.parse::<MacAddress>().expect_err("no address");
        assert!(
            error
                .to_string()
                .contains("write it like '02:00:5e:10:00:01'")
        );
        text.parse::<HopAddress>().expect_err("no address");
    }
}

proptest! {
    #[test]
    fn no_payload_gives_more_than_it_holds(mut payload in proptest::collection::vec(any::<u8>(), 0..80)) {
        let length = payload.len();
        if let Ok(datagram) = datagram_in(&mut payload) {
            prop_assert!(datagram.len() + 2 <= length);
        }
    }
}
