//! DNS queries for addresses, and their answers.

use proptest::prelude::*;
use wire::dns::{AddressKind, answer, question};

/// Returns an answer as a server sends it: the question, an alias, then one address.
fn response(question: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let mut message = question.to_vec();
    message[2] |= 0x80;
    message[7] = 2;
    message.extend([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 4, 1, b'x', 0xc0, 12]);
    message.extend([1, b'x', 0xc0, 12]);
    message.extend(kind.to_be_bytes());
    message.extend([0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
    message.extend(data);
    message
}

#[test]
fn a_question_is_written_as_rfc_1035_says() {
    let bytes = question(0x1234, "gw.example.org.", AddressKind::V4).expect("a name");
    let expected = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x02gw\x07example\x03org\0\0\x01\0\x01";
    assert_eq!(bytes, expected);
    for nothing in [
        "",
        ".",
        "a..b",
        "ü.example",
        &"a".repeat(64),
        &"a.".repeat(128),
    ] {
        assert_eq!(question(1, nothing, AddressKind::V6), None, "{nothing}");
    }
}

#[test]
fn addresses_are_read_behind_aliases() {
    let four = question(7, "gw.example.org", AddressKind::V4).expect("a name");
    let given = response(&four, 1, &[192, 0, 2, 9]);
    assert_eq!(answer(&given, &four), Some(vec![[192, 0, 2, 9].into()]));
    let six = question(7, "gw.example.org", AddressKind::V6).expect("a name");
    let given = response(&six, 28, &[0xfd; 16]);
    assert_eq!(answer(&given, &six), Some(vec![[0xfd; 16].into()]));
    // A record of the other type, or of a wrong length.
    assert_eq!(
        answer(&response(&six, 1, &[192, 0, 2, 9]), &six),
        Some(vec![])
    );
    assert_eq!(
        answer(&response(&four, 1, &[192, 0, 2]), &four),
        Some(vec![])
    );
}

#[test]
fn what_answers_another_question_or_fails_is_none() {
    let asked = question(7, "gw.example.org", AddressKind::V4).expect("a name");
    let right = response(&asked, 1, &[192, 0, 2, 9]);
    let other = question(7, "gx.example.org", AddressKind::V4).expect("a name");
    let late = question(8, "gw.example.org", AddressKind::V4).expect("a name");
    for wrong in [&other, &late] {
        assert_eq!(answer(&right, wrong), None);
    }
    assert_eq!(answer(&asked, &asked), None, "a question is no answer");
    let mut failed = right.clone();
    failed[3] |= 3;
    assert_eq!(answer(&failed, &asked), None);
    for length in 0..right.len() {
        assert_eq!(answer(&right[..length], &asked), None, "cut at {length}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, rest: Vec<u8>) {
        let asked = question(7, "gw.example.org", AddressKind::V4).expect("a name");
        let _ = (answer(&bytes, &asked), answer(&bytes, &bytes), answer(&asked, &bytes));
        let mut message = response(&asked, 1, &[192, 0, 2, 9]);
        message[7] = 200;
        message.extend(rest);
        let _ = answer(&message, &asked);
    }
}
