//! Tests of invitations of gateways: their text, and the rejection of invalid text.

use std::net::IpAddr;
use std::num::NonZeroU16;

use proptest::prelude::*;
use session::{
    Invitation, InvitationError, KeyKind, PublicKey, SiteInvitation, SiteInvitationError,
};

use crate::common::private_key;

fn gateway() -> PublicKey {
    private_key(1, "gateway").public_key()
}

fn invitation(
    inviter: &str,
    name: &str,
    addresses: Vec<(IpAddr, u8)>,
    endpoints: Vec<String>,
) -> SiteInvitation {
    let mut entropy = |bytes: &mut [u8]| bytes.fill(7);
    SiteInvitation {
        invitation: Invitation::new(&mut entropy, gateway(), 1_764_000_000, addresses, endpoints),
        inviter: inviter.into(),
        name: name.into(),
    }
}

fn usual() -> SiteInvitation {
    let addresses = vec![
        (IpAddr::from([10, 74, 48, 1]), 20),
        (IpAddr::from([0xfd73, 0, 0, 0, 0, 0, 0, 1]), 64),
    ];
    invitation(
        "east",
        "west_2",
        addresses,
        vec!["203.0.113.1:51830".into()],
    )
}

fn wrong(text: &str) -> SiteInvitationError {
    SiteInvitation::parse(text).expect_err("it is no line")
}

#[test]
fn a_line_comes_back_as_the_same_invitation() {
    let made = usual();
    let line = made.to_text();
    assert!(line.starts_with("lasthop-site1-"));
    assert_eq!(
        SiteInvitation::parse(&format!("  {}\n", &*line)),
        Ok(made.clone())
    );
    let again = SiteInvitation::parse(&line).unwrap();
    assert_eq!(
        made.invitation.key().public_key(),
        again.invitation.key().public_key()
    );
    assert!(!format!("{made:?}").contains("secret"));
}

#[test]
fn the_longest_values_come_back() {
    let name = "n".repeat(32);
    let addresses = (1..=8).map(|host| (IpAddr::from([0xfd73, 0, 0, 0, 0, 0, 0, host]), 128));
    let endpoints = (0..8).map(|number| format!("{number}{}", "e".repeat(254)));
    let mut made = invitation(&name, &name, addresses.collect(), endpoints.collect());
    made.invitation.tls_port = NonZeroU16::new(u16::MAX);
    assert_eq!(SiteInvitation::parse(&made.to_text()), Ok(made));
}

#[test]
fn a_line_of_the_other_kind_names_the_right_command() {
    let made = usual();
    let of_mobile = wrong(&made.invitation.to_text());
    assert_eq!(of_mobile, SiteInvitationError::OfMobileHost);
    assert!(of_mobile.to_string().contains("`lasthop join LINE`"));
    let of_gateway = Invitation::parse(&made.to_text()).unwrap_err();
    assert_eq!(of_gateway, InvitationError::OfGateway);
    let words = of_gateway.to_string();
    assert!(
        words.contains("`lasthop gateway up --site LINE`"),
        "{words}"
    );
    // The checksum covers the prefix.
    let line = made.to_text();
    let disguised = line.replacen("lasthop-site1-", "lasthop-join1-", 1);
    assert_eq!(
        Invitation::parse(&disguised).unwrap_err(),
        InvitationError::Checksum
    );
}

#[test]
fn what_is_no_line_is_named() {
    let line = usual().to_text();
    assert_eq!(
        wrong("lasthop-sk1-abc"),
        SiteInvitationError::Key(KeyKind::Private)
    );
    for text in ["lasthop-xk1-abc", "", "203.0.113.1"] {
        assert_eq!(wrong(text), SiteInvitationError::NoPrefix);
    }
    let damaged = SiteInvitationError::Line(InvitationError::Checksum);
    for cut in "lasthop-site1-".len()..line.len() {
        assert_eq!(wrong(&line[..cut]), damaged, "{cut}");
    }
    assert_eq!(wrong(&"lasthop-site1-".repeat(1_000)), damaged);
    let position = line.len() - 13;
    assert_eq!(
        wrong(&format!("{}!", &*line)),
        SiteInvitationError::Symbol { position }
    );
}

/// A name becomes the name of a file.
#[test]
fn a_name_that_is_none_is_refused() {
    let malformed = SiteInvitationError::Line(InvitationError::Malformed);
    for name in ["", "../x", "a b", "é"] {
        let SiteInvitation { invitation, .. } = usual();
        for (inviter, name) in [(name, "west"), ("east", name)] {
            let (inviter, name) = (inviter.into(), name.into());
            let made = SiteInvitation {
                invitation: invitation.clone(),
                inviter,
                name,
            };
            assert_eq!(wrong(&made.to_text()), malformed);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = SiteInvitation::parse(&text);
        let _ = SiteInvitation::parse(&format!("lasthop-site1-{text}"));
    }
}
