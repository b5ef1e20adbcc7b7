//! Gateways of a site in files of their own are invited, join, and are removed.

use std::fs;
use std::path::{Path, PathBuf};

use hosts::Decline;
use runtime::KeyClaim;
use runtime::helper::Claimed;
use session::{PrivateKey, PublicKey};
use tempfile::TempDir;

use super::{Invitee, Members, store_claim};
use crate::config::entry::Kind;
use crate::config::{PARSED, Source};
use crate::daemon::unix_seconds;

const WEST: &str = "203.0.113.2:51830";

/// The folder of a gateway.
struct Gateway {
    folder: TempDir,
}

impl Gateway {
    fn new(options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "site_name = \"east\"\nprivate_key_file = \"k\"\n{options}[tun]\naddresses = [\"10.73.0.1/24\"]\n"
        );
        fs::write(folder.path().join("gateway.toml"), text).unwrap();
        Self { folder }
    }

    fn usual() -> Self {
        Self::new("peers_folder = \"peers\"\ngateways_folder = \"gateways\"\n")
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("gateway.toml")
    }

    fn load(&self) -> Members {
        Members::load(&self.path()).unwrap()
    }

    fn watch(&self) -> Members {
        Members::watch(Source::read(&self.path()).unwrap(), None).unwrap()
    }

    /// Invites a host with the key of this number for the invitation; returns an error in words.
    fn invite(&self, kind: Kind, name: &str, number: u8) -> Result<String, String> {
        let invitee = Invitee {
            kind,
            name,
            key: key(number),
            expires: unix_seconds() + 60,
        };
        let mut settings = toml::Table::new();
        if kind == Kind::Gateway {
            settings.insert("endpoint".into(), WEST.into());
            let addresses = vec!["10.74.0.1/24".into()];
            settings.insert("addresses".into(), toml::Value::Array(addresses));
        }
        let made = self.load().invite(invitee, &settings);
        let made = made.map_err(|error| error.to_string())?;
        let [(address, length)] = made[..] else {
            panic!("{made:?}");
        };
        Ok(format!("{address}/{length}"))
    }

    fn claim(&self, of: u8, key_number: u8) -> Result<Claimed, String> {
        let claim = KeyClaim {
            of: key(of),
            key: key(key_number),
        };
        store_claim(&mut self.watch(), &claim).map_err(|error| error.to_string())
    }

    fn former(&self) -> Vec<(PublicKey, Decline)> {
        self.load().config.former_keys(unix_seconds())
    }
}

fn key(number: u8) -> PublicKey {
    PrivateKey::from_bytes([number; 32]).public_key()
}

#[test]
fn a_gateway_is_invited_and_joins() {
    let gateway = Gateway::usual();
    assert_eq!(
        gateway.invite(Kind::Gateway, "west", 1).as_deref(),
        Ok("10.74.0.1/24")
    );
    let members = gateway.load();
    assert!(members.config.gateways.is_empty());
    let west = members.find("west").unwrap();
    assert!(west.key.is_none() && west.invitation.is_some());
    assert!(
        members
            .taken()
            .iter()
            .any(|own| own.to_string() == "10.74.0.1/24")
    );
    drop(members);
    assert_eq!(gateway.claim(1, 2), Ok(Claimed::Stored));
    let members = gateway.load();
    let [west] = &members.config.gateways[..] else {
        panic!("one gateway");
    };
    assert_eq!((west.name(), west.key()), ("west", key(2)));
    assert!(members.find("west").unwrap().invitation.is_none());
    drop(members);
    assert_eq!(gateway.former(), [(key(1), Decline::Replaced)]);
    // The line is used up, and it can vouch for another key in place of its own.
    let refused = gateway.claim(1, 3).unwrap_err();
    assert!(refused.contains("no host has this key"), "{refused}");
    assert_eq!(gateway.claim(2, 3), Ok(Claimed::Stored));
    let refused = gateway.claim(2, 9).unwrap_err();
    assert!(refused.contains("no host has this key"), "{refused}");
    // It keeps its key until another one is claimed with the next line.
    assert_eq!(
        gateway.invite(Kind::Gateway, "west", 4).as_deref(),
        Ok("10.74.0.1/24")
    );
    assert_eq!(gateway.load().config.gateways[0].key(), key(3));
    assert_eq!(gateway.claim(4, 5), Ok(Claimed::Stored));
    assert_eq!(gateway.load().config.gateways[0].key(), key(5));
    // Mobile hosts have a folder of their own.
    assert_eq!(
        gateway.invite(Kind::Mobile, "tablet", 6).as_deref(),
        Ok("10.73.0.2/24")
    );
    assert_eq!(gateway.claim(6, 7), Ok(Claimed::Stored));
    assert!(gateway.folder.path().join("peers/tablet.toml").exists());
    assert_eq!(
        gateway.claim(7, 8),
        Ok(Claimed::Stored),
        "it may claim another key"
    );
}

#[test]
fn names_belong_to_one_host() {
    let gateway = Gateway::usual();
    gateway.invite(Kind::Gateway, "west", 1).unwrap();
    gateway.invite(Kind::Mobile, "tablet", 2).unwrap();
    for (kind, name, words) in [
        (Kind::Gateway, "east", "is the name of this gateway itself"),
        (Kind::Gateway, "tablet", "is a mobile host"),
        (Kind::Mobile, "west", "is a gateway of the site"),
        (Kind::Gateway, "../x", "not a valid name"),
    ] {
        let refused = gateway.invite(kind, name, 3).unwrap_err();
        assert!(refused.contains(words), "{refused}");
    }
    for (other, words) in [
        ("tablet", "there is a mobile host"),
        ("east", "this gateway itself"),
    ] {
        let refused = gateway
            .load()
            .rename("west", other)
            .unwrap_err()
            .to_string();
        assert!(refused.contains(words), "{refused}");
    }
    gateway.load().rename("west", "north").unwrap();
    assert!(gateway.load().find("north").is_some());
}

#[test]
fn a_gateway_is_revoked_unless_it_is_a_home() {
    let gateway = Gateway::usual();
    gateway.invite(Kind::Gateway, "west", 1).unwrap();
    gateway.claim(1, 2).unwrap();
    let path = gateway.folder.path().join("peers/tablet.toml");
    let guest = key(9);
    let text = format!("public_key = \"{guest}\"\naddresses = [\"10.74.0.2\"]\nhome = \"west\"\n");
    fs::write(&path, text).unwrap();
    let mut members = gateway.load();
    for refused in [members.revoke("west"), members.rename("west", "north")] {
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("the home of the mobile host 'tablet'"),
            "{refused}"
        );
    }
    drop(members);
    fs::remove_file(path).unwrap();
    gateway.load().revoke("west").unwrap();
    assert!(gateway.load().find("west").is_none());
    let former = gateway.former();
    assert_eq!(former.last(), Some(&(key(2), Decline::Revoked)));
}

#[test]
fn the_gateway_that_invites_is_stored() {
    let gateway = Gateway::usual();
    let admit = |name: &str, number| {
        let admitted = gateway.load().admit_gateway(name, key(number), WEST);
        admitted.map_err(|error| error.to_string())
    };
    admit("west", 1).unwrap();
    admit("west", 1).unwrap();
    assert_eq!(gateway.load().config.gateways[0].key(), key(1));
    let refused = admit("west", 2).unwrap_err();
    assert!(
        refused.contains("another host by the name 'west'"),
        "{refused}"
    );
    assert!(refused.contains("`lasthop rename`"), "{refused}");
}

#[test]
fn a_configuration_without_a_folder_gets_the_remedy() {
    for (options, kind, remedy) in [
        (
            "peers_folder = \"p\"\n",
            Kind::Gateway,
            "gateways_folder = \"gateways\"",
        ),
        (
            "gateways_folder = \"g\"\n",
            Kind::Mobile,
            "peers_folder = \"peers\"",
        ),
    ] {
        let gateway = Gateway::new(options);
        let refused = gateway.invite(kind, "west", 1).unwrap_err();
        assert!(
            refused.contains(remedy) && refused.contains("restart it"),
            "{refused}"
        );
    }
    let refused = Members::load(&Gateway::new("").path());
    assert!(refused.is_err_and(|error| error.to_string().contains("peers_folder")));
}

/// A gateway may have ten thousand.
#[test]
fn other_hosts_are_not_parsed_again() {
    let parsed = |hosts: u8| {
        let gateway = Gateway::usual();
        for number in 1..=hosts {
            gateway
                .invite(Kind::Mobile, &format!("m{number}"), number)
                .unwrap();
        }
        let mut counts = Vec::new();
        let mut count = |act: &mut dyn FnMut()| {
            let before = PARSED.get();
            act();
            counts.push(PARSED.get() - before);
        };
        let mut watched = gateway.watch();
        let mut members = gateway.load();
        let mut invite = |name, number| {
            let invitee = Invitee {
                kind: Kind::Mobile,
                name,
                key: key(number),
                expires: unix_seconds() + 60,
            };
            members.invite(invitee, &toml::Table::new()).unwrap();
        };
        count(&mut || invite("another", 200));
        count(&mut || invite("one_more", 201));
        drop(members);
        let claim = KeyClaim {
            of: key(200),
            key: key(202),
        };
        count(&mut || assert_eq!(store_claim(&mut watched, &claim).unwrap(), Claimed::Stored));
        count(&mut || watched.renew().unwrap());
        count(&mut || drop(gateway.load()));
        counts
    };
    let (few, many) = (parsed(2), parsed(20));
    assert_eq!(few[..4], many[..4]);
    assert_eq!(few[4] + 18, many[4]);
}

/// It may be on a file system that is read-only.
#[test]
fn a_reload_writes_nothing_into_a_folder() {
    let gateway = Gateway::usual();
    gateway.invite(Kind::Mobile, "tablet", 1).unwrap();
    let lock = gateway.folder.path().join("peers/lock");
    fs::remove_file(&lock).unwrap();
    let mut watched = gateway.watch();
    watched.renew().unwrap();
    assert!(watched.find("tablet").is_some() && !lock.exists());
}

#[test]
fn a_claim_takes_what_others_have_changed_since() {
    let gateway = Gateway::usual();
    let mut watched = gateway.watch();
    let claim = |watched: &mut Members, of, number| {
        let claim = KeyClaim {
            of: key(of),
            key: key(number),
        };
        store_claim(watched, &claim).map_err(|error| error.to_string())
    };
    gateway.invite(Kind::Mobile, "tablet", 1).unwrap();
    gateway.invite(Kind::Mobile, "camera", 2).unwrap();
    assert_eq!(claim(&mut watched, 1, 3), Ok(Claimed::Stored));
    gateway.load().revoke("camera").unwrap();
    let refused = claim(&mut watched, 2, 4).unwrap_err();
    assert!(refused.contains("no host has this key"), "{refused}");
    gateway.load().rename("tablet", "phone").unwrap();
    let before = watched.version();
    assert_eq!(claim(&mut watched, 3, 5), Ok(Claimed::Stored));
    // The reload that follows need not look again.
    let changes = watched.changes_since(before);
    let mobiles = &changes[&Kind::Mobile];
    assert!(mobiles.hosts[Path::new("phone.toml")].contains(&key(5).to_string()));
    assert!(mobiles.gone.contains(Path::new("tablet.toml")));
    assert_eq!(
        watched.find("phone").and_then(|phone| phone.key),
        Some(key(5))
    );
    assert!(watched.find("tablet").is_none());
    fs::write(gateway.folder.path().join("peers/camera.toml"), "no TOML").unwrap();
    let refused = claim(&mut watched, 5, 6).unwrap_err();
    assert!(refused.contains("peers/camera.toml:1:"), "{refused}");
    fs::remove_file(gateway.folder.path().join("peers/camera.toml")).unwrap();
    assert_eq!(claim(&mut watched, 5, 6), Ok(Claimed::Stored));
}

#[test]
fn a_daemon_is_sent_what_has_changed_since_its_version() {
    let gateway = Gateway::usual();
    gateway.invite(Kind::Mobile, "tablet", 1).unwrap();
    gateway.invite(Kind::Mobile, "camera", 2).unwrap();
    let mut watched = gateway.watch();
    let all = watched.changes_since(0).remove(&Kind::Mobile).unwrap();
    assert_eq!((all.hosts.len(), all.gone.len()), (2, 0));
    let version = watched.version();
    gateway.load().revoke("camera").unwrap();
    watched.renew().unwrap();
    let changed = watched.changes_since(version).remove(&Kind::Mobile);
    let changed = changed.unwrap();
    assert_eq!(changed.gone, ["camera.toml".into()].into());
    assert!(changed.former.contains("revoked"), "{}", changed.former);
    // Until it has taken that, it gets it again; then no more.
    let again = watched.changes_since(version).remove(&Kind::Mobile);
    assert_eq!(again.unwrap().gone.len(), 1);
    let version = watched.version();
    let last = watched.changes_since(version).remove(&Kind::Mobile);
    let last = last.unwrap();
    assert_eq!((last.hosts.len(), last.gone.len()), (0, 0));
}
