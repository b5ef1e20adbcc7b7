//! Tests of keys: their text, the rejection of invalid text, and their secrecy.

use proptest::prelude::*;
use session::{KeyKind, ParseKeyError, PresharedKey, PrivateKey, PublicKey};

use crate::common::{preshared_key, private_key};

/// Alice's keys in RFC 7748 §6.1.
const ALICE_PRIVATE: [u8; 32] = [
    0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
    0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a,
];
const ALICE_PUBLIC: [u8; 32] = [
    0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d, 0xdc, 0xb4, 0x3e, 0xf7, 0x5a,
    0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38, 0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a,
];

fn error_of<T>(read: &Result<T, ParseKeyError>) -> ParseKeyError {
    match read {
        Ok(_) => panic!("read what is no key"),
        Err(error) => *error,
    }
}

#[test]
fn the_public_half_is_that_of_rfc_7748() {
    let public = PrivateKey::from_bytes(ALICE_PRIVATE).public_key();
    assert_eq!(public.bytes(), &ALICE_PUBLIC);
}

#[test]
fn text_comes_back_as_the_same_key() {
    let key = private_key(1, "text");
    let text = key.to_text();
    assert!(text.starts_with("lasthop-sk1-"));
    assert_eq!(text.len(), 12 + 58);
    let again: PrivateKey = text.parse().unwrap();
    assert_eq!(again.public_key(), key.public_key());
    let public: PublicKey = key.public_key().to_string().parse().unwrap();
    assert_eq!(public, key.public_key());
    let shared = preshared_key(1);
    let again: PresharedKey = shared.to_text().parse().unwrap();
    assert_eq!(*again.to_text(), *shared.to_text());
}

#[test]
fn either_case_look_alikes_and_spaces_are_read() {
    let public = private_key(2, "text").public_key();
    let text = public.to_string();
    let (prefix, symbols) = text.split_at("lasthop-pk1-".len());
    let shouted = symbols.to_uppercase().replace('0', "O").replace('1', "l");
    let read: PublicKey = format!("  {prefix}{shouted}\n").parse().unwrap();
    assert_eq!(read, public);
}

#[test]
fn a_key_of_another_kind_is_named() {
    let error = error_of(&private_key(1, "x").to_text().parse::<PublicKey>());
    assert_eq!(
        error.to_string(),
        "this is a private key; a public key is wanted here (lasthop-pk1-…)"
    );
    let error = error_of(
        &private_key(1, "x")
            .public_key()
            .to_string()
            .parse::<PresharedKey>(),
    );
    assert_eq!(
        error,
        ParseKeyError::WrongKind {
            found: KeyKind::Public,
            wanted: KeyKind::Preshared
        }
    );
    let error = error_of(&"hello".parse::<PrivateKey>());
    assert_eq!(
        error.to_string(),
        "this is not a key: a private key begins with lasthop-sk1-"
    );
}

#[test]
fn a_key_cut_short_or_mistyped_is_refused_and_not_repeated() {
    let text = private_key(1, "x").to_text();
    let cut = &text[..text.len() - 1];
    let error = error_of(&cut.parse::<PrivateKey>());
    assert_eq!(
        error.to_string(),
        "this private key has 57 symbols after lasthop-sk1- where 58 belong; copy all of it"
    );
    let foreign = format!("{cut}u");
    let error = error_of(&foreign.parse::<PrivateKey>());
    assert_eq!(
        error.to_string(),
        "symbol 58 after lasthop-sk1- is no digit and no letter of a private key"
    );
}

#[test]
fn a_debug_print_of_what_is_public_shows_text() {
    let public = private_key(3, "x").public_key();
    assert_eq!(format!("{public:?}"), public.to_string());
}

proptest! {
    #[test]
    fn every_single_mistyped_symbol_is_caught(place in 0_usize..58, other in 0_usize..32) {
        let text = private_key(4, "typing").public_key().to_string();
        let mut typed: Vec<char> = text.chars().collect();
        let symbol = "0123456789abcdefghjkmnpqrstvwxyz".chars().nth(other).unwrap();
        let place = place + "lasthop-pk1-".len();
        prop_assume!(typed[place] != symbol);
        typed[place] = symbol;
        let typed: String = typed.into_iter().collect();
        prop_assert_eq!(
            typed.parse::<PublicKey>(),
            Err(ParseKeyError::Checksum { kind: KeyKind::Public })
        );
    }

    #[test]
    fn no_text_panics(text in "(lasthop-(sk1|pk1|psk1)-)?\\PC{0,80}") {
        let _: Result<PublicKey, _> = text.parse();
        let _ = text.parse::<PrivateKey>().map(|_| ());
        let _ = text.parse::<PresharedKey>().map(|_| ());
    }
}
