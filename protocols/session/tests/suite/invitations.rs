//! Tests of invitations: their text, and the rejection of invalid text.

use std::net::IpAddr;
use std::num::NonZeroU16;

use proptest::prelude::*;
use session::{Invitation, InvitationError, KeyKind};

use crate::common::private_key;

fn invitation(seed: u8) -> Invitation {
    invitation_to(1, seed)
}

fn invitation_to(gateway: u64, seed: u8) -> Invitation {
    let mut entropy = move |bytes: &mut [u8]| bytes.fill(seed);
    let addresses = vec![
        (IpAddr::from([10, 80, 0, 2]), 24),
        (IpAddr::from([0xfd73, 0, 0, 0, 0, 0, 0, 2]), 64),
    ];
    let endpoints = vec!["gw.example:51830".into(), "[2001:db8::1]:51830".into()];
    let gateway = private_key(gateway, "gateway").public_key();
    Invitation::new(&mut entropy, gateway, 1_764_000_000, addresses, endpoints)
}

#[test]
fn a_line_comes_back_as_the_same_invitation() {
    for tls_port in [None, NonZeroU16::new(443)] {
        let mut made = invitation(7);
        made.tls_port = tls_port;
        comes_back(&made);
    }
}

fn comes_back(made: &Invitation) {
    let line = made.to_text();
    let read = Invitation::parse(&format!(
        "  {}\n",
        line.to_uppercase()
            .replacen("LASTHOP-JOIN1-", "lasthop-join1-", 1)
    ));
    assert!(read.is_ok_and(|read| read == *made));
    assert!(!format!("{made:?}").contains("secret"));
}

/// Whoever has the line has the key; every line, and every gateway, has another one.
#[test]
fn the_key_depends_on_secret_and_gateway() {
    let one = invitation(7);
    let again = Invitation::parse(&one.to_text()).unwrap();
    assert_eq!(one.key().public_key(), again.key().public_key());
    assert_ne!(one.key().public_key(), invitation(8).key().public_key());
    let other = invitation_to(2, 7);
    assert_ne!(one.key().public_key(), other.key().public_key());
}

#[test]
fn what_is_no_line_is_named() {
    let line = invitation(7).to_text();
    let wrong = |text: &str| Invitation::parse(text).unwrap_err();
    for (text, kind) in [
        ("lasthop-pk1-abc", KeyKind::Public),
        ("lasthop-sk1-abc", KeyKind::Private),
        ("lasthop-psk1-abc", KeyKind::Preshared),
    ] {
        assert_eq!(wrong(text), InvitationError::Key(kind));
    }
    for text in ["lasthop-xk1-abc", ""] {
        assert_eq!(wrong(text), InvitationError::NoPrefix);
    }
    for cut in 14..line.len() {
        assert_eq!(wrong(&line[..cut]), InvitationError::Checksum, "{cut}");
    }
    assert_eq!(
        wrong(&format!("{}!", &*line)),
        InvitationError::Symbol {
            position: line.len() - 13
        }
    );
    assert_eq!(
        wrong(&"lasthop-join1-".repeat(1_000)),
        InvitationError::Checksum
    );
}

/// Each wrong symbol is noticed: a typing error never leads to another gateway or secret.
#[test]
fn each_changed_symbol_is_noticed() {
    let line = invitation(7).to_text();
    for place in "lasthop-join1-".len()..line.len() {
        let mut changed = line.to_string();
        let other = if &line[place..=place] == "0" {
            "4"
        } else {
            "0"
        };
        changed.replace_range(place..=place, other);
        assert_eq!(
            Invitation::parse(&changed).unwrap_err(),
            InvitationError::Checksum
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = Invitation::parse(&text);
        let _ = Invitation::parse(&format!("lasthop-join1-{text}"));
    }
}
