//! Machines that have one list in a modelled etcd, with faults that a seed decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use machine::RandomStream;
use runtime::KeyClaim;
use session::PublicKey;

use super::copied::Copied;
use super::mirror_tests::{Machine, key};
use super::model::{Etcd, Faults};
use super::{Registry, keys_in};
use crate::config::entry::Kind;
use crate::state::{Invitee, store_claim};

/// What is another one when the data were lost, and when a gateway has begun the list anew.
type Era = (u64, i64);

/// Most requests of a machine before another one looks.
const MOST_REQUESTS: u64 = 8;

fn has(hosts: &BTreeMap<String, String>, key: &PublicKey) -> bool {
    let key = key.to_string();
    hosts.values().any(|text| text.contains(&key))
}

/// A machine, and the era of the list that it knows.
struct Operated {
    machine: Machine,
    etcd: Arc<Etcd>,
    era: Mutex<Era>,
}

impl Operated {
    fn new(etcd: &Arc<Etcd>) -> Self {
        Self {
            machine: Machine::new(etcd),
            etcd: Arc::clone(etcd),
            era: Mutex::default(),
        }
    }

    /// Has it look at the list. Without an answer nothing changes.
    fn refresh(&self) {
        let (era, before) = (self.etcd.era(), self.machine.hosts());
        match self.machine.mirror().refresh() {
            Ok(_) if self.etcd.era() == era => *self.era.lock().unwrap() = era,
            Ok(_) => {}
            Err(_) => assert_eq!(self.machine.hosts(), before),
        }
    }

    fn knows(&self, era: Era) -> bool {
        *self.era.lock().unwrap() == era
    }
}

/// Machines with the same keys, their operator, and what he may rely on.
struct Site {
    etcd: Arc<Etcd>,
    machines: Vec<Arc<Operated>>,
    /// A machine that cannot reach etcd.
    cut: Option<usize>,
    random: RandomStream,
    number: u64,
    /// Keys that count, as they were added with success.
    added: BTreeSet<PublicKey>,
    /// Keys that count no more, as they were removed or replaced with success.
    removed: BTreeSet<PublicKey>,
    /// The era of which this holds.
    era: Era,
}

impl Site {
    fn new(seed: u64, machines: usize) -> Self {
        let etcd = Arc::new(Etcd::new(seed));
        Self {
            machines: (0..machines)
                .map(|_| Arc::new(Operated::new(&etcd)))
                .collect(),
            etcd,
            cut: None,
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

    /// Takes note of what others have removed, and of what nobody remembers after a loss.
    fn look(&mut self) {
        let removed = self.etcd.take_removed();
        self.remove(removed.clone());
        let era = self.etcd.era();
        if self.era != era {
            let remembers = |one: &Arc<Operated>, key: &PublicKey| {
                let machine = &one.machine;
                machine.former().contains(key) && !has(&machine.hosts(), key)
            };
            let machines = &self.machines;
            self.removed
                .retain(|key| machines.iter().any(|one| remembers(one, key)));
            self.era = era;
        }
        for one in self.machines.iter().filter(|one| !one.knows(era)) {
            let mut hosts = one.machine.hosts();
            hosts.extend(Copied::read(&one.machine.folders()).refused);
            // A machine adds what it has to a list that is new to it, also what others have just removed there.
            let again = |key: &PublicKey| removed.contains(key) && has(&hosts, key);
            self.removed.retain(|key| !again(key));
        }
    }

    /// Has all data be lost, when each machine has looked since the last loss; or has them be lost or become those of
    /// an earlier day, when each machine knows all of them.
    fn lose(&mut self, when_all_know: bool) {
        let faults = self.etcd.set_faults(Faults::default());
        for one in [self.machines.clone(), self.machines.clone()].concat() {
            if when_all_know || !one.knows(self.era) {
                one.refresh();
                self.look();
            }
        }
        if when_all_know {
            self.etcd.lose_some();
        } else {
            self.etcd.restore(0, 0);
        }
        self.etcd.set_faults(faults);
    }

    /// Has a machine look at the list, and change it if all of them know it. Another one may look meanwhile.
    fn step(&mut self) {
        self.look();
        let which = self.random.below(self.machines.len() as u64) as usize;
        if self.cut == Some(which) {
            return;
        }
        let other = self.random.below(2 * self.machines.len() as u64) as usize;
        let requests = self.random.below(MOST_REQUESTS);
        if let Some(other) = self.machines.get(other)
            && self.cut.is_none()
            && !Arc::ptr_eq(other, &self.machines[which])
        {
            let other = Arc::clone(other);
            self.etcd
                .interrupt(requests, Box::new(move || other.refresh()));
        }
        self.machines[which].refresh();
        self.look();
        if self.machines.iter().all(|one| one.knows(self.era)) {
            self.operate(which);
            self.look();
        }
        self.etcd.go_on();
    }

    /// Has the operator change the list at a machine.
    fn operate(&mut self, which: usize) {
        let machine = &self.machines[which].machine;
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
            for one in &self.machines {
                one.machine.mirror().refresh().unwrap();
            }
            self.look();
        }
        let revision = self.etcd.revision();
        for Operated { machine, .. } in self.machines.iter().map(Arc::as_ref) {
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
                site.lose(seed % 2 == 0);
                site.cut = None;
            } else if machines > 1 && step % 10 == 5 {
                site.cut = Some(site.random.below(machines as u64 + 1) as usize);
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
    endure(2, 30);
}
