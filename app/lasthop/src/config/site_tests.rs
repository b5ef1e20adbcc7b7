//! What is wrong with a site in a configuration is named with its place.

use std::path::PathBuf;

use session::PrivateKey;

use super::Source;
use super::gateway::GatewayConfig;
use super::mobile::MobileConfig;

fn key(of: u8) -> String {
    PrivateKey::from_bytes([of; 32]).public_key().to_string()
}

/// Returns the section of a gateway with this name, key and address.
fn gateway(name: &str, of: u8, address: &str) -> String {
    let key = key(of);
    format!("[[gateways]]\nname = \"{name}\"\npublic_key = \"{key}\"\nendpoint = \"{address}\"\n")
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
            configuration(&west, "tcp = \"split\"\n"),
            "`tcp` is \"arq\"",
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
