//! Copies of a list in a modelled etcd.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use runtime::KeyClaim;
use session::{PrivateKey, PublicKey};
use tempfile::TempDir;

use super::mirror::Mirror;
use super::model::{AWAY, Etcd, Faults};
use super::{Change, Folders, Registry, key_of};
use crate::config::Source;
use crate::config::entry::Kind;
use crate::config::gateway::GatewayConfig;
use crate::daemon::unix_seconds;
use crate::key_file;
use crate::state::{FormerKeys, Invitee, Members, store_claim};

pub(super) fn key(number: u64) -> PublicKey {
    let mut bytes = [1; 32];
    // The lowest bits of a private key do not count.
    bytes[1..9].copy_from_slice(&number.to_le_bytes());
    PrivateKey::from_bytes(bytes).public_key()
}

/// A machine with the keys of the gateway.
pub(super) struct Machine {
    folder: TempDir,
    etcd: Arc<Etcd>,
}

impl Machine {
    pub(super) fn new(etcd: &Arc<Etcd>) -> Self {
        Self::with(etcd, &PrivateKey::from_bytes([9; 32]), "10.73.0.1/24")
    }

    /// Returns one with this key and this inner subnet.
    pub(super) fn with(etcd: &Arc<Etcd>, own: &PrivateKey, subnet: &str) -> Self {
        // In memory: nothing has to survive a loss of power.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let text = format!(
            "private_key_file = \"key\"\npeers_folder = \"peers\"\ngateways_folder = \"gateways\"\n[tun]\n\
             addresses = [\"{subnet}\"]\n"
        );
        std::fs::write(folder.path().join("gateway.toml"), text).unwrap();
        key_file::write(&folder.path().join("key"), &own.to_text(), false).unwrap();
        for kind in ["peers", "gateways"] {
            std::fs::create_dir(folder.path().join(kind)).unwrap();
        }
        let etcd = Arc::clone(etcd);
        Self { folder, etcd }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("gateway.toml")
    }

    pub(super) fn source(&self) -> Source {
        Source::read(&self.path()).unwrap()
    }

    pub(super) fn folders(&self) -> Folders {
        Folders::of(&self.source()).unwrap()
    }

    pub(super) fn mirror(&self) -> Mirror<Etcd> {
        Mirror::open(Arc::clone(&self.etcd), self.source(), self.folders()).unwrap()
    }

    pub(super) fn members(&self) -> Members {
        Members::open(self.source(), Box::new(self.mirror()), None).unwrap()
    }

    /// Invites a mobile host with the key of this number, which it has in its name, too.
    fn invite(&self, number: u64) {
        self.invite_again(&format!("h{number}"), number);
    }

    /// Invites the mobile host of this name with the key of this number.
    fn invite_again(&self, name: &str, number: u64) {
        let (kind, key, expires) = (Kind::Mobile, key(number), u32::MAX);
        let invitee = Invitee {
            kind,
            name,
            key,
            expires,
        };
        let mut members = self.members();
        members.invite(invitee, &toml::Table::new()).unwrap();
    }

    /// Returns the texts of all hosts by their keys in etcd.
    pub(super) fn hosts(&self) -> BTreeMap<String, String> {
        let folders = self.folders();
        let hosts = |kind| {
            let names = folders.names(kind).unwrap().into_iter();
            let folders = &folders;
            names.map(move |name| {
                let text = folders.text(kind, &name).unwrap().unwrap();
                (key_of(kind, &name), text)
            })
        };
        Kind::ALL.into_iter().flat_map(hosts).collect()
    }

    pub(super) fn former(&self) -> BTreeSet<PublicKey> {
        let former = FormerKeys::read(&self.folder.path().join("peers"));
        let former = former.at(unix_seconds()).into_iter();
        former.map(|(key, _)| key).collect()
    }

    /// Checks that the folders are the list, but for entries that are valid with none of the others.
    pub(super) fn is_up_to_date(&self, context: &str) {
        let (list, hosts) = (self.etcd.entries(), self.hosts());
        GatewayConfig::load(&self.source()).unwrap();
        for (key, text) in &list {
            if hosts.get(key) != Some(text) {
                let path = self.folder.path().join(format!("{key}.toml"));
                let former = std::fs::read_to_string(&path);
                std::fs::write(&path, text).unwrap();
                let loaded = GatewayConfig::load(&self.source());
                assert!(loaded.is_err(), "{context}: {key} is not taken: {text}");
                match former {
                    Ok(former) => std::fs::write(&path, former).unwrap(),
                    Err(_) => std::fs::remove_file(&path).unwrap(),
                }
            }
        }
        for key in hosts.keys() {
            assert!(list.contains_key(key), "{context}: {key} is only here");
        }
    }
}

/// Returns a machine that knows these hosts, and its etcd, in which they have been put.
fn known(hosts: &[(&str, &str)]) -> (Machine, Arc<Etcd>) {
    let etcd = Arc::new(Etcd::new(1));
    for (key, text) in hosts {
        etcd.put(key, text);
    }
    let machine = Machine::new(&etcd);
    assert_eq!(machine.mirror().refresh().unwrap().len(), 0);
    machine.is_up_to_date("at first");
    (machine, etcd)
}

/// Returns the text of a host with the key of this number and this address.
fn host(number: u64, address: u8) -> String {
    let key = key(number);
    format!("public_key = \"{key}\"\naddresses = [\"10.73.0.{address}\"]\n")
}

/// Somebody else revokes a host just before it gets another name, or another key.
#[test]
fn a_host_that_is_removed_at_the_same_time_stays_so() {
    let (kind, name) = (Kind::Mobile, "cam1".to_owned());
    let other = "cam2".to_owned();
    let text = host(2, 2);
    for change in [
        Change::Rename {
            kind,
            name: name.clone(),
            other,
        },
        Change::Put { kind, name, text },
    ] {
        let (machine, etcd) = known(&[("peers/cam1", &host(1, 2))]);
        let mut mirror = machine.mirror();
        mirror.refresh().unwrap();
        etcd.remove("peers/cam1");
        let refused = mirror.commit(&change).unwrap_err().to_string();
        assert!(refused.contains("at the same time"), "{refused}");
        mirror.refresh().unwrap();
        assert!(machine.hosts().is_empty() && etcd.entries().is_empty());
    }
}

/// Its address becomes free after it was revoked.
#[test]
fn an_entry_that_was_not_taken_is_gone_with_its_host() {
    let (one, other) = (host(1, 2), host(2, 3));
    let (machine, etcd) = known(&[("peers/cam1", &one), ("peers/cam2", &other)]);
    etcd.put("peers/cam1", &host(1, 3));
    let mut members = machine.members();
    assert_eq!(members.warnings().len(), 1);
    let refused = members.rename("cam1", "cam3").unwrap_err().to_string();
    assert!(refused.contains("does not take"), "{refused}");
    let mut members = machine.members();
    members.revoke("cam1").unwrap();
    members.revoke("cam2").unwrap();
    machine.mirror().refresh().unwrap();
    assert!(machine.hosts().is_empty());
}

/// A line that was used up, and then the host that had used it was revoked.
#[test]
fn what_was_revoked_stays_so_in_an_etcd_of_an_earlier_day() {
    for more in [0, 1_000] {
        let (machine, etcd) = known(&[]);
        machine.invite(1);
        let day = etcd.revision();
        let (of, key) = (key(1), key(2));
        store_claim(&mut machine.members(), &KeyClaim { of, key }).unwrap();
        machine.members().revoke("h1").unwrap();
        etcd.restore(day, more);
        machine.mirror().refresh().unwrap();
        assert!(machine.hosts().is_empty() && etcd.entries().is_empty());
    }
}

/// The machine has taken the place of another one, and got the list when the host was in it no more.
#[test]
fn what_a_machine_has_never_known_stays_away_from_an_etcd_of_an_earlier_day() {
    for more in [0, 1_000] {
        let (first, etcd) = known(&[]);
        first.invite(1);
        first.invite(2);
        let day = etcd.revision();
        let (of, key) = (key(2), key(12));
        store_claim(&mut first.members(), &KeyClaim { of, key }).unwrap();
        first.members().revoke("h1").unwrap();
        let second = Machine::new(&etcd);
        second.mirror().refresh().unwrap();
        let hosts = second.hosts();
        etcd.restore(day, more);
        for _ in 0..2 {
            assert_eq!(second.mirror().refresh().unwrap().len(), 0);
            assert_eq!(second.hosts(), hosts);
            assert_eq!(etcd.entries(), hosts);
        }
    }
}

/// Somebody removes a host, and adds another one, before the machine looks that knows more.
#[test]
fn what_others_change_in_a_list_that_was_begun_anew_stays_so() {
    let (machine, etcd) = known(&[]);
    (1..=3).for_each(|number| machine.invite(number));
    let behind = Machine::new(&etcd);
    behind.mirror().refresh().unwrap();
    machine.members().revoke("h1").unwrap();
    machine.members().rename("h2", "cam2").unwrap();
    etcd.restore(0, 0);
    behind.mirror().refresh().unwrap();
    behind.members().revoke("h3").unwrap();
    behind.invite(4);
    for machine in [&machine, &behind, &machine] {
        assert_eq!(machine.mirror().refresh().unwrap().len(), 0);
    }
    let hosts = machine.hosts();
    let names: Vec<_> = hosts.keys().map(String::as_str).collect();
    assert_eq!(names, ["peers/cam2", "peers/h4"]);
    assert_eq!(behind.hosts(), hosts);
    assert_eq!(etcd.entries(), hosts);
}

/// Returns a machine with two hosts, and its etcd, which was restored since it had one of them.
fn of_an_earlier_day() -> (Machine, Arc<Etcd>) {
    let (machine, etcd) = known(&[]);
    machine.invite(1);
    let day = etcd.revision();
    machine.invite(2);
    etcd.restore(day, 1_000);
    (machine, etcd)
}

/// The registry falls silent after some requests of the machine.
#[test]
fn what_others_add_to_an_etcd_of_an_earlier_day_stays_though_the_machine_has_to_look_twice() {
    for requests in 0..8 {
        let (machine, etcd) = of_an_earlier_day();
        etcd.put("peers/cam1", &host(3, 9));
        let world = Arc::clone(&etcd);
        let away = Box::new(move || {
            world.set_faults(AWAY);
        });
        etcd.interrupt(requests, away);
        let first = machine.mirror().refresh();
        assert_eq!(first.is_err(), requests < 7, "{requests}: {first:?}");
        etcd.go_on();
        etcd.set_faults(Faults::default());
        assert_eq!(machine.mirror().refresh().unwrap().len(), 0);
        let hosts = machine.hosts();
        assert_eq!(hosts.len(), 3, "{requests}: {hosts:?}");
        assert_eq!(etcd.entries(), hosts);
    }
}

#[test]
fn other_programs_that_use_etcd_hinder_no_merge() {
    for requests in 0..8 {
        let (machine, etcd) = of_an_earlier_day();
        let world = Arc::clone(&etcd);
        etcd.interrupt(requests, Box::new(move || world.count_up()));
        assert_eq!(machine.mirror().refresh().unwrap().len(), 0);
        assert_eq!(etcd.entries(), machine.hosts());
    }
}

/// The first machine has given it all that it had, and more, before the second one looks.
#[test]
fn an_etcd_of_an_earlier_day_is_another_list_for_each_machine() {
    let (first, etcd) = known(&[]);
    let second = Machine::new(&etcd);
    let day = etcd.revision();
    (1..6).for_each(|number| first.invite(number));
    second.mirror().refresh().unwrap();
    first.invite(6);
    etcd.restore(day, 0);
    (7..15).for_each(|number| first.invite(number));
    second.mirror().refresh().unwrap();
    assert_eq!(second.hosts().len(), 14);
    second.is_up_to_date("afterwards");
}

#[test]
fn a_change_that_was_made_without_an_answer_is_no_other_one() {
    let (machine, etcd) = known(&[]);
    etcd.set_faults(Faults {
        answers: 15,
        ..Faults::default()
    });
    for number in 2..50 {
        let (kind, name, text) = (
            Kind::Mobile,
            format!("h{number}"),
            host(number, number as u8),
        );
        let mut mirror = machine.mirror();
        if mirror.refresh().is_ok()
            && let Err(error) = mirror.commit(&Change::Put { kind, name, text })
        {
            assert!(error.to_string().contains("not answer"), "{error}");
        }
    }
}

/// A gateway stays while it is the home of a mobile host here.
#[test]
fn a_removal_that_is_not_taken_is_tried_again() {
    let west = format!(
        "public_key = \"{}\"\nendpoint = \"192.0.2.1:51830\"\n",
        key(1)
    );
    let guest = format!("{}home = \"west\"\n", host(2, 2));
    let (machine, etcd) = known(&[("gateways/west", &west), ("peers/cam1", &guest)]);
    etcd.remove("gateways/west");
    for _ in 0..2 {
        assert_eq!(machine.mirror().refresh().unwrap().len(), 1);
        assert!(machine.hosts().contains_key("gateways/west"));
    }
    etcd.remove("peers/cam1");
    assert_eq!(machine.mirror().refresh().unwrap().len(), 0);
    assert!(machine.hosts().is_empty() && etcd.entries().is_empty());
}

/// One takes the address that another one gives back, beside nonsense.
#[test]
fn changes_that_need_each_other_are_taken_though_others_are_not() {
    let (machine, etcd) = known(&[("peers/cam1", &host(1, 2)), ("peers/cam2", &host(2, 3))]);
    etcd.put("peers/cam1", &host(1, 3));
    etcd.put("peers/cam2", &host(2, 4));
    etcd.put("peers/rubbish", "name = ");
    assert_eq!(machine.mirror().refresh().unwrap().len(), 1);
    machine.is_up_to_date("afterwards");
}

/// Only the first machine knows the latest changes when the data are lost. Whichever looks first, they stay.
#[test]
fn a_machine_that_is_behind_undoes_nothing_in_a_list_that_was_lost() {
    for (is_first, losses) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        let (machine, etcd) = known(&[]);
        let behind = Machine::new(&etcd);
        (1..=4).for_each(|number| machine.invite(number));
        behind.mirror().refresh().unwrap();
        machine.members().rename("h1", "cam1").unwrap();
        machine.members().revoke("h2").unwrap();
        machine.invite_again("h3", 13);
        let (of, key) = (key(4), key(14));
        store_claim(&mut machine.members(), &KeyClaim { of, key }).unwrap();
        for number in 0..losses {
            etcd.restore(0, 0);
            let machines = [(&behind, is_first), (&machine, true)];
            for (one, _) in machines.into_iter().filter(|(_, looks)| *looks) {
                one.mirror().refresh().unwrap();
            }
            machine.invite(5 + number);
        }
        let hosts = machine.hosts();
        let names = ["peers/cam1", "peers/h3", "peers/h4", "peers/h5"];
        assert!(names.iter().all(|name| hosts.contains_key(*name)));
        assert_eq!(hosts.len(), names.len() + losses as usize - 1);
        for _ in 0..2 {
            behind.mirror().refresh().unwrap();
            machine.mirror().refresh().unwrap();
        }
        assert_eq!(machine.hosts(), hosts);
        assert_eq!(behind.hosts(), hosts);
        assert_eq!(etcd.entries(), hosts);
    }
}

/// Two hosts have one address, and the machines have not taken the same one.
#[test]
fn an_entry_that_was_not_taken_is_in_the_list_again_after_a_loss() {
    let cam1 = host(1, 2);
    let (machine, etcd) = known(&[("peers/cam1", &cam1)]);
    let second = Machine::new(&etcd);
    etcd.remove("peers/cam1");
    etcd.put("peers/cam2", &host(2, 2));
    assert_eq!(second.mirror().refresh().unwrap().len(), 0);
    etcd.put("peers/cam1", &cam1);
    let look = || [&second, &machine].map(|one| one.mirror().refresh().unwrap().len());
    assert_eq!(look(), [1, 1]);
    let (list, [other, one]) = (etcd.entries(), [&second, &machine].map(Machine::hosts));
    assert_ne!(one, other);
    etcd.restore(0, 0);
    for _ in 0..2 {
        assert_eq!(look(), [1, 1]);
        assert_eq!(etcd.entries(), list);
    }
    etcd.remove("peers/cam1");
    assert_eq!(look(), [0, 0]);
    machine.is_up_to_date("afterwards");
}
