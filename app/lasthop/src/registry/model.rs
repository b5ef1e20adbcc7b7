//! A model of etcd in memory. A seed decides its faults, and what others write at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use machine::RandomStream;
use session::PublicKey;

use super::keys_in;
use super::store::{Listing, Owner, State, Store, Version, Write};
use crate::failure::Failure;

/// A cluster of etcd.
pub(super) struct Etcd {
    world: Mutex<World>,
    interruption: Mutex<Option<Interruption>>,
}

/// What happens just before a request.
struct Interruption {
    /// Number of requests before that one.
    requests: u64,
    act: Box<dyn FnOnce() + Send>,
}

/// How often something goes wrong, in per cent of the requests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    /// Nothing is done, what is done is not answered, and what is done without an answer is requested again: each.
    pub(super) answers: u64,
    /// Others change the list just before.
    pub(super) others: u64,
    /// The data are lost, or become those of an earlier day, just before.
    pub(super) losses: u64,
}

/// Nothing is answered.
pub(super) const AWAY: Faults = Faults {
    answers: 100,
    others: 0,
    losses: 0,
};

/// All data of a moment.
#[derive(Debug, Clone, Default)]
struct Data {
    cluster: u64,
    revision: i64,
    /// It remembers what was at this revision, and later.
    forgotten: i64,
    /// Text of the owner, if there is one.
    owner: Option<Value>,
    /// Revision at which the list began; 0 without an owner.
    owned: i64,
    hosts: BTreeMap<String, Value>,
}

/// A value, with the revision at which its key was changed last.
#[derive(Debug, Clone)]
struct Value {
    text: String,
    changed: i64,
}

/// The cluster and what befalls it.
struct World {
    data: Data,
    /// The data after each change.
    history: Vec<Data>,
    random: RandomStream,
    faults: Faults,
    losses: u64,
    /// Number of hosts that others have added.
    strangers: u64,
    /// Keys of hosts that others have removed or replaced.
    removed: BTreeSet<PublicKey>,
}

impl Data {
    /// Returns the revision of the last write by a gateway.
    fn written(&self) -> i64 {
        self.owner.as_ref().map_or(0, |owner| owner.changed)
    }

    /// Changes the text of a key, at the present revision.
    fn set(&mut self, key: &str, text: &str) {
        let value = Value {
            text: text.into(),
            changed: self.revision,
        };
        self.hosts.insert(key.into(), value);
    }
}

impl Etcd {
    pub(super) fn new(seed: u64) -> Self {
        let data = Data {
            cluster: 1,
            ..Data::default()
        };
        let world = World {
            history: vec![data.clone()],
            data,
            random: RandomStream::named(seed, "etcd"),
            faults: Faults::default(),
            losses: 0,
            strangers: 0,
            removed: BTreeSet::new(),
        };
        Self {
            world: Mutex::new(world),
            interruption: Mutex::default(),
        }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// Has something happen after some requests.
    pub(super) fn interrupt(&self, requests: u64, act: Box<dyn FnOnce() + Send>) {
        *self.interruption.lock().unwrap() = Some(Interruption { requests, act });
    }

    /// Has nothing of that happen any more.
    pub(super) fn go_on(&self) {
        *self.interruption.lock().unwrap() = None;
    }

    /// Returns what happens before the next request.
    fn interruption(&self) -> Option<Interruption> {
        let mut interruption = self.interruption.lock().unwrap();
        if let Some(later) = interruption.as_mut().filter(|later| later.requests > 0) {
            later.requests -= 1;
            return None;
        }
        interruption.take()
    }

    /// Sets the faults from now on, and returns those before.
    pub(super) fn set_faults(&self, faults: Faults) -> Faults {
        std::mem::replace(&mut self.world().faults, faults)
    }

    /// Returns what is another one after each loss, and when a gateway has begun the list anew.
    pub(super) fn era(&self) -> (u64, i64) {
        let world = self.world();
        (world.losses, world.data.owned)
    }

    pub(super) fn revision(&self) -> i64 {
        self.world().data.revision
    }

    /// Returns all entries.
    pub(super) fn entries(&self) -> BTreeMap<String, String> {
        let hosts = self.world().data.hosts.clone().into_iter();
        hosts.map(|(key, value)| (key, value.text)).collect()
    }

    /// Returns the keys of hosts that others have removed or replaced since the last call.
    pub(super) fn take_removed(&self) -> BTreeSet<PublicKey> {
        std::mem::take(&mut self.world().removed)
    }

    /// Has somebody else put an entry.
    pub(super) fn put(&self, key: &str, text: &str) {
        self.world().put(key, text);
    }

    /// Has somebody else remove an entry.
    pub(super) fn remove(&self, key: &str) {
        self.world().remove(key);
    }

    /// Has another program use this etcd.
    pub(super) fn count_up(&self) {
        self.world().count_up();
    }

    /// Has the data be those of this revision, and be numbered as if `more` changes had followed.
    pub(super) fn restore(&self, revision: i64, more: i64) {
        self.world().restore(revision, more);
    }

    /// Has the data be lost, or become those of an earlier day.
    pub(super) fn lose_some(&self) {
        self.world().lose_some();
    }

    /// Does what is requested, unless a fault prevents it.
    fn request<T>(&self, act: impl Fn(&mut Data) -> T) -> Result<T, Failure> {
        if let Some(interruption) = self.interruption() {
            (interruption.act)();
        }
        let mut world = self.world();
        world.befall();
        let fault = world.random.below(100) / world.faults.answers.max(1);
        let away = || Failure::setting("the registry does not answer".to_owned());
        if world.faults.answers > 0 && fault == 0 {
            return Err(away());
        }
        let done = world.act(&act);
        match fault {
            _ if world.faults.answers == 0 => Ok(done),
            1 => Err(away()),
            // The client asks another member.
            2 => Ok(world.act(&act)),
            _ => Ok(done),
        }
    }
}

impl World {
    fn act<T>(&mut self, act: impl Fn(&mut Data) -> T) -> T {
        let done = act(&mut self.data);
        if self.history.last().map(|last| last.revision) != Some(self.data.revision) {
            self.history.push(self.data.clone());
        }
        done
    }

    fn put(&mut self, key: &str, text: &str) {
        let former = self.keys_of(key);
        self.removed.extend(&former - &keys_in(text));
        self.act(|data| {
            data.revision += 1;
            data.set(key, text);
        });
    }

    fn remove(&mut self, key: &str) {
        let former = self.keys_of(key);
        self.removed.extend(former);
        self.act(|data| {
            data.revision += 1;
            data.hosts.remove(key);
        });
    }

    fn count_up(&mut self) {
        self.act(|data| data.revision += 50);
    }

    fn keys_of(&self, key: &str) -> BTreeSet<PublicKey> {
        let value = self.data.hosts.get(key);
        value.map(|value| keys_in(&value.text)).unwrap_or_default()
    }

    fn restore(&mut self, revision: i64, more: i64) {
        self.history.retain(|data| data.revision <= revision);
        self.data = self.history.last().cloned().unwrap_or_default();
        self.act(|data| {
            data.revision += more;
            // As `etcdutl snapshot restore --bump-revision --mark-compacted` does.
            data.forgotten = if more > 0 {
                data.revision
            } else {
                data.forgotten
            };
        });
        self.losses += 1;
    }

    fn lose(&mut self) {
        // Members with the same names and addresses are the same cluster again.
        let cluster = self.data.cluster + self.random.below(2);
        self.data = Data {
            cluster,
            revision: self.random.below(100) as i64,
            ..Data::default()
        };
        self.history = vec![self.data.clone()];
        self.losses += 1;
    }

    /// Has something happen at times.
    fn befall(&mut self) {
        if self.random.below(100) < self.faults.losses {
            self.lose_some();
        }
        if self.random.below(100) < self.faults.others {
            self.interfere();
        }
    }

    /// Has the data be lost, or become those of an earlier day.
    fn lose_some(&mut self) {
        // A gateway need not notice that nothing but changes by others is undone.
        let written = self.data.written();
        let mut earlier = self.history.iter().filter(|data| data.written() < written);
        let count = earlier.clone().count() as u64;
        let chosen = self.random.below(2 * count + 1) as usize;
        match earlier.nth(chosen).map(|data| data.revision) {
            Some(revision) => {
                let more = self.random.below(2) as i64 * 1_000;
                self.restore(revision, more);
            }
            None => self.lose(),
        }
    }

    /// Has somebody else change the list.
    fn interfere(&mut self) {
        let which = self.random.below(self.data.hosts.len() as u64 + 1) as usize;
        let known = self.data.hosts.iter().nth(which);
        let known = known.map(|(key, value)| (key.clone(), value.text.clone()));
        let address = format!("\"10.73.0.{}\"", 200 + self.random.below(5));
        match (self.random.below(5), known) {
            (0, Some((key, _))) => self.remove(&key),
            (1, Some((key, text))) if text.contains("10.73.0.2") => {
                let (head, tail) = text.split_once("\"10.73.0.2").unwrap();
                let tail = tail.split_once('"').unwrap().1;
                self.put(&key, &format!("{head}{address}{tail}"));
            }
            (2, _) if self.data.hosts.contains_key("peers/rubbish") => self.remove("peers/rubbish"),
            (2, _) => self.put("peers/rubbish", "name = "),
            (3, _) => self.count_up(),
            _ => {
                self.strangers += 1;
                let number = self.strangers;
                let key = super::mirror_tests::key(10_000 + number);
                let text = format!("public_key = \"{key}\"\naddresses = [{address}]\n");
                self.put(&format!("peers/stranger{number}"), &text);
            }
        }
    }
}

impl Store for Etcd {
    fn list(&self, since: i64) -> Result<Listing, Failure> {
        self.request(|data| {
            let owner = data.owner.as_ref();
            let owner = owner.map(|owner| Owner::read(&owner.text));
            let entries = data.hosts.iter();
            let entries = entries.filter(|(_, value)| value.changed > since);
            Listing {
                cluster: data.cluster,
                version: Version {
                    list: owner.as_ref().map_or(0, |owner| owner.list),
                    written: data.written(),
                    revision: data.revision,
                },
                owner: owner.unwrap_or_default(),
                count: data.hosts.len(),
                entries: entries
                    .map(|(key, value)| (key.clone(), value.text.clone()))
                    .collect(),
            }
        })
    }

    fn keys(&self, revision: i64) -> Result<Option<BTreeSet<String>>, Failure> {
        self.request(|_| ())?;
        let world = self.world();
        let (data, mut before) = (&world.data, world.history.iter().rev());
        if revision < data.forgotten || data.revision < revision {
            return Ok(None);
        }
        let then = before.find(|data| data.revision <= revision);
        let keys = |data: &Data| data.hosts.keys().cloned().collect();
        Ok(Some(then.map(keys).unwrap_or_default()))
    }

    fn write(
        &self,
        writes: &[Write<'_>],
        owner: Option<&Owner>,
        was: &State<'_>,
    ) -> Result<Option<i64>, Failure> {
        self.request(|data| {
            let is_new = |value: &Value| value.changed > was.version.revision;
            let mut present = was.present.iter();
            let known = data.owner.as_mut()?;
            if known.changed != was.version.written
                || data.hosts.values().any(is_new)
                || !present.all(|key| data.hosts.contains_key(*key))
            {
                return None;
            }
            data.revision += 1;
            known.changed = data.revision;
            if let Some(owner) = owner {
                known.text = owner.to_string();
            }
            for write in writes {
                match write {
                    Write::Put(key, text) => data.set(key, text),
                    Write::Delete(key) => drop(data.hosts.remove(*key)),
                }
            }
            Some(data.revision)
        })
    }

    fn own(&self, owner: Owner, former: i64) -> Result<(), Failure> {
        let list = self.world().random.below(u64::MAX);
        let owner = Owner { list, ..owner };
        self.request(|data| {
            if data.written() == former {
                data.revision += 1;
                data.owned = data.revision;
                data.owner = Some(Value {
                    text: owner.to_string(),
                    changed: data.revision,
                });
            }
        })
    }
}
