//! An error shows the place of a mistake, and never a secret that stands there.

use std::path::PathBuf;

use super::Source;
use super::gateway::GatewayConfig;
use super::mobile::MobileConfig;

const SYMBOLS: &str = "m6gt38d1m6gt38d1m6gt38d1m6gt38d1m6gt38d1m6gt38d1m6gn4z2rag";
const MOBILE: &str = include_str!("../../examples/mobile.toml");
const GATEWAY: &str = include_str!("../../examples/gateway.toml");

/// Returns the example with this line in place of the first one that begins so.
fn changed(example: &str, begin: &str, line: &str) -> String {
    let mut is_found = false;
    let lines: Vec<_> = example
        .lines()
        .map(|given| {
            let is_it = !is_found && given.starts_with(begin);
            is_found |= is_it;
            if is_it { line } else { given }
        })
        .collect();
    assert!(is_found, "the example has no line '{begin}'");
    lines.join("\n")
}

fn complaint(text: &str) -> String {
    let source = Source::new(PathBuf::from("hop.toml"), text.into(), None);
    let failure = if text.contains("[gateway]") {
        MobileConfig::load(&source).err()
    } else {
        GatewayConfig::load(&source).err()
    };
    let text = failure.expect("the configuration is wrong").to_string();
    assert!(!text.contains(&SYMBOLS[..12]), "{text}");
    text
}

#[test]
fn a_private_key_in_place_of_a_public_one_is_named_and_not_shown() {
    for example in [MOBILE, GATEWAY] {
        for (kind, name) in [("sk1", "private key"), ("psk1", "preshared key")] {
            let line = format!("public_key = \"lasthop-{kind}-{SYMBOLS}\"");
            let text = complaint(&changed(example, "public_key = ", &line));
            assert!(text.contains(&format!("this is a {name}")), "{text}");
            let shown = format!("public_key = \"lasthop-{kind}-…\"");
            assert!(text.contains(&shown), "{text}");
            // The mark stands below what is shown of the value.
            let mut lines = text.lines().skip_while(|line| !line.contains(&shown));
            let (shown, mark) = (lines.next().unwrap(), lines.next().unwrap());
            let place = |text: &str, what: char| text.chars().position(|c| c == what);
            assert_eq!(place(mark, '^'), place(shown, '"'), "{text}");
            assert_eq!(mark.chars().count(), shown.chars().count(), "{text}");
        }
    }
}

#[test]
fn a_secret_in_any_other_place_is_not_shown() {
    for (begin, line) in [
        (
            "private_key_file = ",
            format!("private_key_file = lasthop-sk1-{SYMBOLS}"),
        ),
        (
            "private_key_file = ",
            format!("private_key_file = 7 # lasthop-sk1-{SYMBOLS}"),
        ),
        ("private_key_file = ", format!("lasthop-psk1-{SYMBOLS} = 1")),
        (
            "private_key_file = ",
            format!("name = \"lasthop-join1-{SYMBOLS}\""),
        ),
        ("[tun]", format!("[\"lasthop-sk1-{SYMBOLS}\"]\n[tun]")),
        (
            "addresses = ",
            format!("addresses = [\"lasthop-sk1-{SYMBOLS}\"]"),
        ),
    ] {
        for example in [MOBILE, GATEWAY] {
            complaint(&changed(example, begin, &line));
        }
    }
    let key = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
    let line = format!("public_key = \"{key}\"");
    let text = complaint(&changed(MOBILE, "public_key = ", &line));
    assert!(
        !text.contains(key) && text.contains("this is not a key"),
        "{text}"
    );
}
