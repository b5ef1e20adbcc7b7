//! What is wrong with a site in a configuration is named with its place.

use std::path::PathBuf;

use hosts::GuestExits;
use session::PrivateKey;
use wire::address::HopAddress;

use super::entry::{Entry, Kind, Texts};
use super::gateway::GatewayConfig;
use super::mobile::MobileConfig;
use super::site::SiteGateway;
use super::{ReadFiles, Source};

fn key(of: u8) -> String {
    PrivateKey::from_bytes([of; 32]).public_key().to_string()
}

/// Returns the section of a gateway with this name, key and address.
fn gateway(name: &str, of: u8, address: &str) -> String {
    let key = key(of);
    format!("[[gateways]]\nname = \"{name}\"\npublic_key = \"{key}\"\nendpoint = \"{address}\"\n")
}

/// Returns the section of a gateway with these addresses.
fn gateways_at(addresses: &str) -> String {
    gateway("west", 1, WEST).replace(&format!("\"{WEST}\""), addresses)
}

/// Returns the configuration of a gateway with these gateways, whose mobile host has these lines.
fn configuration(gateways: &str, lines: &str) -> String {
    let key = key(9);
    format!(
        "private_key_file = \"k\"\n[tun]\naddresses = [\"10.73.0.1/24\"]\n{gateways}[[peers]]\nname = \"tablet7\"\n\
         public_key = \"{key}\"\naddresses = [\"10.73.0.2\"]\n{lines}"
    )
}

fn source(text: &str) -> Source {
    Source::new(PathBuf::from("some/site.toml"), text.into(), None)
}

const WEST: &str = "198.51.100.2:51830";

#[test]
fn gateways_and_homes_that_do_not_fit_are_refused() {
    let west = gateway("west", 1, WEST);
    let twice = |other: &str| west.clone() + other;
    for (text, words) in [
        (
            configuration(&west, "home = \"east\"\n"),
            "names no other gateway",
        ),
        (
            configuration("", "home = \"west\"\n"),
            "names no other gateway",
        ),
        (
            configuration(&west, "home = \"west\"\ntcp = \"split\"\n"),
            "the home of a mobile host chooses `tcp`",
        ),
        (
            configuration(&twice(&gateway("west", 2, WEST)), ""),
            "of this name already",
        ),
        (
            configuration(&twice(&gateway("north", 1, WEST)), ""),
            "has this key",
        ),
        (
            configuration(&gateway("tablet7", 1, WEST), ""),
            "of this name already",
        ),
        (configuration(&gateway("west", 9, WEST), ""), "has this key"),
        (
            configuration(
                &gateways_at("[\"198.51.100.2:51830\", \"west.example.org:51830\"]"),
                "",
            ),
            "known by their addresses",
        ),
        (
            configuration(&gateway("west", 1, "west.example.org:51830"), ""),
            "known by their addresses",
        ),
        (
            configuration(&west, "").replace("[tun]", "[air]\nshared = true\n[tun]"),
            "a shared air is for a gateway alone",
        ),
    ] {
        let error = GatewayConfig::load(&source(&text))
            .expect_err("it is wrong")
            .to_string();
        assert!(
            error.contains(words) && error.contains("site.toml"),
            "{error}"
        );
    }
    let right = configuration(&west, "home = \"west\"\n");
    let right = GatewayConfig::load(&source(&right)).expect("it is right");
    assert_eq!(right.residents().count(), 0);
    assert!(right.home_of(&right.peers[0]).is_some());
}

/// Other states than that of the link repair do not move, so the mobile host stays.
#[test]
fn any_tcp_is_possible_at_home() {
    for tcp in ["split", "snoop", "auto", "plain"] {
        let text = configuration(&gateway("west", 1, WEST), &format!("tcp = \"{tcp}\"\n"));
        let config = GatewayConfig::load(&source(&text)).expect("it is right");
        assert_eq!(config.residents().count(), 1);
    }
}

/// Returns the configuration of a gateway with these files in its folder of gateways.
fn with_files(text: &str, files: &[(&str, &str)]) -> Source {
    let hosts = files.iter();
    let hosts = hosts.map(|(name, text)| (PathBuf::from(name), (*text).to_owned()));
    let texts = Texts {
        hosts: hosts.collect(),
        ..Texts::default()
    };
    let files = ReadFiles {
        folders: [(Kind::Gateway, texts)].into(),
        ..ReadFiles::default()
    };
    let text = format!("gateways_folder = \"gateways\"\n{text}");
    Source::new(PathBuf::from("some/site.toml"), text, Some(files))
}

/// Returns the file of a gateway that has joined.
fn joined(of: u8) -> String {
    let key = key(of);
    format!("endpoint = \"{WEST}\"\npublic_key = \"{key}\"\naddresses = [\"10.74.0.1/24\"]\n")
}

/// Returns the file of a gateway that is invited, with the key of its invitation.
fn invited(of: u8) -> String {
    let key = key(of);
    format!("endpoint = \"{WEST}\"\n[invitation]\npublic_key = \"{key}\"\nexpires = 2000000000\n")
}

#[test]
fn gateways_in_a_folder_are_of_the_site_when_they_have_joined() {
    let files = [
        ("west.toml", joined(1)),
        ("north.toml", invited(2)),
        (
            "south.toml",
            joined(3) + &invited(4)[invited(4).find("[inv").unwrap_or(0)..],
        ),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let by_hand = gateway("hand", 5, "198.51.100.5:51830");
    let text = format!(
        "site_name = \"east\"\n{}",
        configuration(&by_hand, "home = \"west\"\n")
    );
    let config = GatewayConfig::load(&with_files(&text, &files)).expect("it is right");
    assert_eq!(config.site_name(), "east");
    let names: Vec<_> = config.gateways.iter().map(SiteGateway::name).collect();
    assert_eq!(names, ["hand", "south", "west"]);
    assert!(config.home_of(&config.peers[0]).is_some());
    let entries: Vec<_> = config.entries().collect();
    let state = |entry: &Entry<'_>| {
        (
            entry.name.to_owned(),
            entry.key.is_some(),
            entry.invitation.is_some(),
        )
    };
    let expected = [
        ("tablet7", true, false),
        ("hand", true, false),
        ("north", false, true),
        ("south", true, true),
        ("west", true, false),
    ];
    let expected = expected.map(|(name, key, invitation)| (name.to_owned(), key, invitation));
    assert_eq!(entries.iter().map(state).collect::<Vec<_>>(), expected);
    let networks: Vec<_> = entries[4]
        .networks
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(networks, ["10.74.0.1/24"]);
    // Another process reads the same from the texts.
    let again = ReadFiles {
        folders: config.texts(),
        ..ReadFiles::default()
    };
    let again = Source::new(
        PathBuf::from("some/site.toml"),
        format!("gateways_folder = \"gateways\"\n{text}"),
        Some(again),
    );
    let again = GatewayConfig::load(&again).expect("it is right");
    assert_eq!(again.entries().count(), entries.len());
    // An invitation that is over is told to who has it.
    let over = config.former_keys(u32::MAX);
    assert_eq!(over.len(), 2, "{over:?}");
}

#[test]
fn gateways_in_a_folder_that_do_not_fit_are_refused_with_their_file() {
    let usual = configuration("", "");
    let shared = usual.replace("[tun]", "[air]\nshared = true\n[tun]");
    let named = format!("site_name = \"west\"\n{usual}");
    let keyless = format!("endpoint = \"{WEST}\"\n");
    let by_name = joined(1).replace(WEST, "west.example.org:51830");
    for (text, file, content, words) in [
        (&usual, "tablet7.toml", joined(1), "of this name already"),
        (&usual, "tablet7.toml", invited(1), "of this name already"),
        (&usual, "west.toml", joined(9), "has this key"),
        (
            &usual,
            "west.toml",
            invited(9),
            "has the key of this invitation",
        ),
        (&usual, "west.toml", keyless, "needs a public key"),
        (&usual, "west.toml", by_name, "known by their addresses"),
        (&usual, "we-st.toml", joined(1), "is not a valid name"),
        (
            &shared,
            "west.toml",
            invited(1),
            "a shared air is for a gateway alone",
        ),
        (
            &usual,
            "west.toml",
            "name = \"x\"\n".into(),
            "unknown field",
        ),
    ] {
        let source = with_files(text, &[(file, &content)]);
        let error = GatewayConfig::load(&source).expect_err("it is wrong");
        let error = error.to_string();
        let place = format!("some/gateways/{file}");
        assert!(error.contains(words) && error.contains(&place), "{error}");
    }
    let source = with_files(&named, &[("west.toml", &invited(1))]);
    let error = GatewayConfig::load(&source).expect_err("it is wrong");
    assert!(
        error.to_string().contains("a name of its own in the site"),
        "{error}"
    );
}

#[test]
fn a_gateway_may_have_several_addresses() {
    let [first, other] = [WEST, "198.51.100.9:51830"];
    let west = gateways_at(&format!("[\"{first}\", \"{other}\"]"));
    let source = source(&configuration(&west, ""));
    let gateway = GatewayConfig::load(&source).unwrap();
    let addresses = gateway.gateways[0].addresses(&source).unwrap();
    let expected = [first, other].map(|text| HopAddress::Udp(text.parse().unwrap()));
    assert_eq!(addresses, expected);
}

#[test]
fn a_mobile_host_knows_each_gateway_once() {
    let mobile = |gateways: &str, hop: &str| {
        let key = key(1);
        let text = format!(
            "private_key_file = \"k\"\n[tun]\naddresses = [\"10.73.0.2/24\"]\n[hop]\n{hop}[gateway]\nname = \"east\"\n\
             public_key = \"{key}\"\nendpoint = \"203.0.113.1:51830\"\n{gateways}"
        );
        MobileConfig::load(&source(&text))
    };
    for (gateways, words) in [
        (gateway("east", 2, WEST), "of this name already"),
        (gateway("west", 1, WEST), "has this key"),
        (gateway("west", 2, "west:1"), "known by their addresses"),
    ] {
        let error = mobile(&gateways, "").expect_err("it is wrong").to_string();
        assert!(error.contains(words), "{error}");
    }
    assert!(mobile(&gateway("west", 2, WEST), "").is_ok());
}

#[test]
fn connections_leave_only_where_replies_come_back() {
    let usual = configuration("", "");
    let exits = |lines: &str| {
        let text = format!("{lines}\n{usual}");
        GatewayConfig::load(&source(&text)).map(|config| config.exits())
    };
    for (lines, expected) in [
        ("", GuestExits::OfSilentHome),
        ("nat = false", GuestExits::None),
        ("local_breakout = true", GuestExits::ToInternet),
        ("local_breakout = false", GuestExits::OfSilentHome),
        ("nat = false\nlocal_breakout = false", GuestExits::None),
        (
            "nat = false\nfollow = { networks = [\"10.73.0.0/24\"] }",
            GuestExits::Untranslated,
        ),
    ] {
        assert_eq!(exits(lines).expect(lines), expected, "{lines}");
    }
    for (lines, words) in [
        (
            "nat = false\nlocal_breakout = true",
            "some/site.toml:2:18: replies would go to the home",
        ),
        (
            "networks = [\"10.0.0.0/8\"]\nlocal_breakout = true",
            "`networks` has only some of it",
        ),
        (
            "follow = { networks = [\"10.73.0.0/24\"] }",
            "some/site.toml:1:23: translated addresses cannot follow",
        ),
        (
            "nat = false\nfollow = { networks = [] }",
            "some/site.toml:2:23: name the inner addresses",
        ),
    ] {
        let error = exits(lines).expect_err(lines).to_string();
        assert!(error.contains(words), "{error}");
    }
}
