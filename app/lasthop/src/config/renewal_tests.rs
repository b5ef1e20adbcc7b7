//! A configuration that takes changes is the one that is read anew.

use std::collections::BTreeMap;
use std::path::PathBuf;

use session::{PrivateKey, PublicKey};

use super::entry::{Kind, Texts};
use super::gateway::GatewayConfig;
use super::{PARSED, ReadFiles, Source};

fn key(number: u8) -> PublicKey {
    PrivateKey::from_bytes([number; 32]).public_key()
}

/// Returns the file of a mobile host with this key, address and further lines.
fn host(number: u8, address: u8, more: &str) -> String {
    let key = key(number);
    format!("public_key = \"{key}\"\naddresses = [\"10.73.0.{address}\"]\n{more}")
}

fn invited(number: u8, address: u8) -> String {
    let key = key(number);
    format!(
        "addresses = [\"10.73.0.{address}\"]\n[invitation]\npublic_key = \"{key}\"\nexpires = 2000000000\n"
    )
}

fn main_text() -> String {
    let own = host(1, 2, "");
    format!(
        "site_name = \"east\"\nprivate_key_file = \"k\"\npeers_folder = \"peers\"\ngateways_folder = \"gateways\"\n\
         [tun]\naddresses = [\"10.73.0.1/24\"]\n[[peers]]\nname = \"own\"\n{own}"
    )
}

/// Returns a source with these files, or for none with files that nobody may read.
fn source(folders: Option<BTreeMap<Kind, Texts>>) -> Source {
    let files = folders.map(|folders| ReadFiles {
        folders,
        ..ReadFiles::default()
    });
    Source::new(PathBuf::from("some/gateway.toml"), main_text(), files)
}

fn folders(hosts: &[(&str, String)]) -> BTreeMap<Kind, Texts> {
    let named = |(name, text): &(&str, String)| (PathBuf::from(name), text.clone());
    let mobiles = Texts {
        hosts: hosts.iter().map(named).collect(),
        ..Texts::default()
    };
    let west = key(9);
    let west = format!("endpoint = \"203.0.113.2:51830\"\npublic_key = \"{west}\"\n");
    let gateways = Texts {
        hosts: [(PathBuf::from("west.toml"), west)].into(),
        ..Texts::default()
    };
    [(Kind::Mobile, mobiles), (Kind::Gateway, gateways)].into()
}

/// Returns what a configuration knows of its hosts, or the error.
fn known(config: Result<&GatewayConfig, String>) -> Result<Vec<String>, String> {
    let config = config?;
    let entries = config.entries().map(|entry| {
        let text = entry.file.map(Source::text);
        let by_key = entry.key.and_then(|key| config.entry_with(&key));
        let by_key = by_key.map(|entry| entry.name);
        let by_name = config.entry_named(entry.name).map(|entry| entry.name);
        format!("{entry:?} {text:?} {by_key:?} {by_name:?}")
    });
    Ok(entries.collect())
}

/// Returns the files before the changes.
fn files() -> [(&'static str, String); 3] {
    [
        ("a.toml", host(2, 3, "")),
        ("a1.toml", host(3, 4, "tcp = \"split\"\n")),
        ("b.toml", invited(4, 5)),
    ]
}

/// Files that change or are new, and those that go; and how many are parsed, if they are valid.
struct Case(
    &'static [&'static str],
    Option<usize>,
    Vec<(&'static str, String)>,
);

fn cases() -> Vec<Case> {
    let no_key = "addresses = [\"10.73.0.9\"]\n".to_owned();
    vec![
        Case(&[], Some(0), vec![]),
        Case(&[], Some(1), vec![("b.toml", host(5, 5, ""))]),
        Case(&["a.toml"], Some(1), vec![("c.toml", host(5, 6, ""))]),
        Case(&["a.toml"], Some(1), vec![("c.toml", host(2, 3, ""))]),
        Case(
            &[],
            Some(2),
            vec![("a.toml", host(2, 4, "")), ("a1.toml", host(3, 3, ""))],
        ),
        Case(
            &[],
            Some(2),
            vec![("a.toml", host(3, 3, "")), ("a1.toml", host(2, 4, ""))],
        ),
        Case(
            &[],
            Some(1),
            vec![("c.toml", host(5, 6, "home = \"west\"\n"))],
        ),
        Case(&["a.toml", "a1.toml", "b.toml"], Some(0), vec![]),
        Case(&[], None, vec![("c.toml", host(2, 6, ""))]),
        Case(&[], None, vec![("c.toml", host(4, 6, ""))]),
        Case(&[], None, vec![("c.toml", host(1, 6, ""))]),
        Case(&[], None, vec![("c.toml", host(9, 6, ""))]),
        Case(&[], None, vec![("c.toml", host(5, 2, ""))]),
        Case(
            &[],
            None,
            vec![("c.toml", host(5, 6, "")), ("d.toml", host(6, 6, ""))],
        ),
        Case(&[], None, vec![("own.toml", host(5, 6, ""))]),
        Case(&[], None, vec![("east.toml", host(5, 6, ""))]),
        Case(&[], None, vec![("c.toml", host(5, 6, "weight = 3\n"))]),
        Case(
            &[],
            None,
            vec![("c.toml", host(5, 6, "home = \"north\"\n"))],
        ),
        Case(&[], None, vec![("c.toml", host(5, 6, "name = \"d\"\n"))]),
        Case(&[], None, vec![("c.toml", no_key)]),
    ]
}

#[test]
fn changes_have_the_same_result_as_all_files() {
    let all = files();
    for Case(gone, parsed, changed) in &cases() {
        let mut config = GatewayConfig::load(&source(Some(folders(&all)))).unwrap();
        let before = known(Ok(&config)).unwrap();
        let mut changes = folders(changed);
        let mut next = folders(&all);
        let mobiles = next.get_mut(&Kind::Mobile).unwrap();
        let texts = changes.get_mut(&Kind::Mobile).unwrap();
        texts.gone = gone.iter().map(PathBuf::from).collect();
        mobiles.hosts.retain(|name, _| !texts.gone.contains(name));
        mobiles.hosts.extend(texts.hosts.clone());
        let count = PARSED.get();
        let renewed = config.renew(&source(None), &changes);
        let count = PARSED.get() - count;
        let anew = GatewayConfig::load(&source(Some(next)));
        let anew = known(anew.as_ref().map_err(ToString::to_string));
        let is_refused = renewed.is_err();
        let renewed = renewed.map(|()| &config).map_err(|error| error.to_string());
        assert_eq!(known(renewed), anew, "{changed:?} {gone:?}");
        assert_eq!(is_refused, parsed.is_none(), "{changed:?} {gone:?}");
        match parsed {
            Some(parsed) => assert_eq!(count, *parsed, "{changed:?} {gone:?}"),
            None => assert_eq!(known(Ok(&config)), Ok(before), "nothing has changed"),
        }
        // It goes on from there.
        let more = folders(&[("z.toml", host(20, 20, ""))]);
        let count = PARSED.get();
        config.renew(&source(None), &more).unwrap();
        assert_eq!(PARSED.get() - count, 1);
        let refused = config.renew(&source(None), &folders(&[("y.toml", host(20, 21, ""))]));
        assert!(refused.is_err());
    }
}
