//! Copies of a list in a modelled etcd, with faults that a seed decides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use machine::RandomStream;
use runtime::KeyClaim;
use session::{PrivateKey, PublicKey};
use tempfile::TempDir;

use super::mirror::{Mirror, keys_in};
use super::model::{Etcd, Faults};
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
    /// The era of the list that it knows.
    era: (u64, i64),
}

impl Machine {
    fn new(etcd: &Arc<Etcd>) -> Self {
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
        Self {
            folder,
            etcd,
            era: (0, 0),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("gateway.toml")
    }

    pub(super) fn source(&self) -> Source {
        Source::read(&self.path()).unwrap()
    }

    fn folders(&self) -> Folders {
        Folders::of(&self.source()).unwrap()
    }

    pub(super) fn mirror(&self) -> Mirror<Etcd> {
        Mirror::open(Arc::clone(&self.etcd), self.source(), self.folders()).unwrap()
    }

    fn members(&self) -> Members {
        Members::open(self.source(), Box::new(self.mirror()), None).unwrap()
    }

    /// Invites a mobile host with the key of this number.
    fn invite(&self, number: u64) {
        let (kind, name, expires) = (Kind::Mobile, &*format!("h{number}"), u32::MAX);
        let key = key(number);
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
    fn hosts(&self) -> BTreeMap<String, String> {
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

    fn former(&self) -> BTreeSet<PublicKey> {
        let former = FormerKeys::read(&self.folder.path().join("peers"));
        let former = former.at(unix_seconds()).into_iter();
        former.map(|(key, _)| key).collect()
    }

    /// Checks that the folders are the list, but for entries that are valid with none of the others.
    fn is_up_to_date(&self, context: &str) {
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

fn has(hosts: &BTreeMap<String, String>, key: &PublicKey) -> bool {
    let key = key.to_string();
    hosts.values().any(|text| text.contains(&key))
}

/// Machines with the same keys, their operator, and what he may rely on.
struct Site {
    etcd: Arc<Etcd>,
    machines: Vec<Machine>,
    random: RandomStream,
    number: u64,
    /// Keys that count, as they were added with success.
    added: BTreeSet<PublicKey>,
    /// Keys that count no more, as they were removed or replaced with success.
    removed: BTreeSet<PublicKey>,
    /// The era of which this holds.
    era: (u64, i64),
}

impl Site {
    fn new(seed: u64, machines: usize) -> Self {
        let etcd = Arc::new(Etcd::new(seed));
        Self {
            machines: (0..machines).map(|_| Machine::new(&etcd)).collect(),
            etcd,
            random: RandomStream::named(seed, "operator"),
            number: 0,
            added: BTreeSet::new(),
            removed: BTreeSet::new(),
            era: (0, 0),
        }
    }

    fn remove(&mut self, keys: BTreeSet<PublicKey>) {
        self.added.retain(|key| !keys.contains(key));
        self.removed.extend(keys);
    }

    /// Takes note of what others have removed, and of what nobody remembers after a loss: each machine adds all that it
    /// has to a list that is new to it.
    fn look(&mut self) {
        let removed = self.etcd.take_removed();
        self.remove(removed);
        let era = self.etcd.era();
        if self.era != era {
            let former = self.machines.iter().flat_map(Machine::former);
            let former: BTreeSet<_> = former.collect();
            self.removed.retain(|key| former.contains(key));
            self.era = era;
        }
        for machine in self.machines.iter().filter(|machine| machine.era != era) {
            let hosts = machine.hosts();
            self.removed.retain(|key| !has(&hosts, key));
        }
    }

    /// Has the data be lost when each machine knows all of them: it is promised no more.
    fn lose(&mut self) {
        let faults = self.etcd.set_faults(Faults::default());
        for machine in self.machines.iter().chain(&self.machines) {
            machine.mirror().refresh().unwrap();
        }
        self.look();
        for machine in &mut self.machines {
            machine.era = self.era;
        }
        self.etcd.lose_some();
        self.etcd.set_faults(faults);
    }

    /// Has a machine do something, if all of them know the list.
    fn step(&mut self) {
        self.look();
        let which = self.random.below(self.machines.len() as u64) as usize;
        let machine = &mut self.machines[which];
        let (era, before) = (self.etcd.era(), machine.hosts());
        let refreshed = machine.mirror().refresh();
        if refreshed.is_err() {
            assert_eq!(machine.hosts(), before);
        }
        // What was removed in a list that is new to it may be there again.
        self.look();
        if refreshed.is_ok() && self.era == era {
            self.machines[which].era = era;
        }
        if self.machines.iter().all(|machine| machine.era == self.era) {
            self.operate(which);
            self.look();
        }
    }

    /// Has the operator change the list at a machine.
    fn operate(&mut self, which: usize) {
        let machine = &self.machines[which];
        let mut members = machine.members();
        let hosts = machine.hosts();
        let chosen = self.random.below(hosts.len() as u64 + 1) as usize;
        let name = hosts.keys().nth(chosen);
        let name = name
            .and_then(|key| key.split_once('/'))
            .map(|(_, name)| name);
        self.number += 1;
        let (new, another) = (key(self.number), format!("h{}", self.number));
        let entry = name.and_then(|name| members.find(name));
        let invited = entry.as_ref().and_then(|entry| entry.invitation);
        let invited: BTreeSet<_> = invited.iter().map(|open| open.public_key.0).collect();
        let all: BTreeSet<_> = entry
            .and_then(|entry| entry.key)
            .into_iter()
            .chain(invited.clone())
            .collect();
        let (mut former, mut is_new) = (BTreeSet::new(), false);
        let done = match (self.random.below(6), name) {
            (0, Some(name)) => members.rename(name, &another),
            (1, Some(name)) => {
                former = all.clone();
                members.revoke(name)
            }
            (2 | 3, Some(_)) if !invited.is_empty() => {
                (former, is_new) = (all.clone(), true);
                let of = *invited.first().unwrap();
                store_claim(&mut members, &KeyClaim { of, key: new }).map(drop)
            }
            (choice, name) => {
                is_new = true;
                let again = name.filter(|_| choice == 4);
                former = again.map(|_| invited).unwrap_or_default();
                let name = again.unwrap_or(&another);
                let (kind, key, expires) = (Kind::Mobile, new, u32::MAX);
                let invitee = Invitee {
                    kind,
                    name,
                    key,
                    expires,
                };
                members.invite(invitee, &toml::Table::new()).map(drop)
            }
        };
        if done.is_ok() {
            self.remove(former);
            self.added.extend(is_new.then_some(new));
        } else {
            // It may be done, and only the answer be lost.
            let list = self.etcd.entries();
            self.added
                .retain(|key| !all.contains(key) || has(&list, key));
        }
    }

    /// Checks everything, after the faults have ended.
    fn is_right(&mut self, context: &str) {
        self.etcd.set_faults(Faults::default());
        for _ in 0..2 {
            for machine in &mut self.machines {
                machine.mirror().refresh().unwrap();
            }
            self.look();
        }
        let revision = self.etcd.revision();
        for machine in &self.machines {
            machine.mirror().refresh().unwrap();
            machine.is_up_to_date(context);
        }
        assert_eq!(self.etcd.revision(), revision, "{context}");
        let list = self.etcd.entries();
        for key in &self.added {
            assert!(has(&list, key), "{context}: {key} is lost");
        }
        for key in &self.removed {
            assert!(!has(&list, key), "{context}: {key} is back");
        }
        let added = |text: &&String| !keys_in(text).is_disjoint(&self.added);
        let added = list.values().filter(added);
        let mut addresses: Vec<_> = added.map(|text| text.split("\"10.").nth(1)).collect();
        addresses.sort_unstable();
        assert!(
            addresses.is_sorted_by(|one, next| one < next),
            "{context}: {list:?}"
        );
    }
}

/// Has everything happen to machines, one time for each seed.
fn endure(machines: usize, seeds: u64) {
    for seed in 0..seeds {
        let mut site = Site::new(seed, machines);
        site.etcd.set_faults(Faults {
            answers: seed % 6,
            others: seed % 20,
            losses: if machines == 1 { seed % 3 } else { 0 },
        });
        for step in 1..=30 {
            site.step();
            if machines > 1 && step % 10 == 0 {
                site.lose();
            }
        }
        site.is_right(&format!("seed {seed}"));
    }
}

#[test]
fn a_copy_is_the_list_whatever_has_happened() {
    endure(1, 14);
}

#[test]
fn two_machines_have_one_list_whatever_has_happened() {
    endure(2, 14);
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
