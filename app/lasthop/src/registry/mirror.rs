//! Folders as a copy of the list that etcd has.
//!
//! The list is an entry for each host, below the prefix of the gateway. A file beside the copies has the revision up to
//! which they are up to date, and what the registry had then: so an answer of a few bytes shows that nothing has
//! changed, a host that is missing in the registry has been removed there, and one that it never had is added.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::slice;
use std::sync::Arc;

use hosts::Decline;
use serde::{Deserialize, Serialize};
use session::PublicKey;

use super::folders::file_of;
use super::store::{Listing, Origin, State, Store, Write};
use super::{Change, Folders, Registry, host_of, key_of};
use crate::config::Source;
use crate::config::entry::{Kind, Texts};
use crate::config::gateway::GatewayConfig;
use crate::config::values::Name;
use crate::daemon::unix_seconds;
use crate::failure::Failure;
use crate::state::{FormerKeys, replace};

/// File with what is known of the registry, in the first folder.
const FILE: &str = "registry.json";
/// Most writes at a time; etcd allows 128.
const MOST_WRITES: usize = 100;

/// A list elsewhere and its copy.
pub(super) struct Mirror<S> {
    store: Arc<S>,
    /// The gateway's configuration.
    source: Source,
    folders: Folders,
    copied: Copied,
}

/// What is known of the registry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Copied {
    origin: Origin,
    /// Number of its last change that is in the folders.
    pub(super) revision: i64,
    /// Revision of the last write by a gateway.
    written: i64,
    /// Keys that it has.
    keys: BTreeSet<String>,
    /// Entries that this gateway did not take: they are tried again each time.
    refused: BTreeMap<String, String>,
}

impl Copied {
    /// Reads it. A file that is missing or damaged is made anew.
    pub(super) fn read(folders: &Folders) -> Self {
        let text = path_in(folders).and_then(|path| std::fs::read_to_string(path).ok());
        let read = text.and_then(|text| serde_json::from_str(&text).ok());
        read.unwrap_or_default()
    }

    /// Returns true if this listing is of another list, or of an earlier day.
    fn is_before(&self, listing: &Listing) -> bool {
        listing.origin != self.origin
            || listing.revision < self.revision
            || listing.written < self.written
    }

    fn write(&self, folders: &Folders) -> Result<(), Failure> {
        let Some(path) = path_in(folders) else {
            return Ok(());
        };
        let text = serde_json::to_string(self).map_err(Failure::broken)?;
        replace(&path, &text)
    }
}

fn path_in(folders: &Folders) -> Option<PathBuf> {
    Some(folders.first()?.join(FILE))
}

/// Which changes of the registry the gateway takes.
#[derive(Default)]
struct Outcome {
    accepted: Vec<Difference>,
    /// Entries that it does not take.
    refused: BTreeMap<String, String>,
    /// What is wrong with them.
    errors: Vec<Failure>,
    /// Keys that the registry has no more, whose hosts have to stay.
    needed: BTreeSet<String>,
}

/// A host that the registry has with another text than the folders, or has no more.
struct Difference {
    kind: Kind,
    name: String,
    text: Option<String>,
}

impl Difference {
    /// Returns its key in the registry.
    fn key(&self) -> String {
        key_of(self.kind, &self.name)
    }
}

impl Outcome {
    fn refuse(&mut self, key: String, text: String, error: Failure) {
        self.refused.insert(key, text);
        self.errors.push(error);
    }
}

impl<S: Store> Mirror<S> {
    /// Opens the copy in these folders.
    pub(super) fn open(store: Arc<S>, source: Source, folders: Folders) -> Result<Self, Failure> {
        if folders.first().is_none() {
            let what = "a registry needs a folder for its copy; add `peers_folder = \"peers\"` before all sections";
            return Err(source.wrong(None, what));
        }
        Ok(Self {
            copied: Copied::default(),
            store,
            source,
            folders,
        })
    }

    /// Begins a copy of the list in `found`, which this gateway has not known; returns its own one.
    fn begin(&mut self, found: &Listing) -> Result<Listing, Failure> {
        let keys = GatewayConfig::load(&self.source)?.keys(&self.source)?;
        let own = keys.key.public_key().to_string();
        let former = keys.former.into_iter().chain(keys.ended);
        let former = former.map(|key| key.public_key().to_string());
        let all: BTreeSet<_> = former.chain([own.clone()]).collect();
        // Other machines with its keys are to see that one of an earlier day is another list.
        let (origin, known) = (found.origin, self.copied.origin);
        let is_earlier = origin.cluster == known.cluster && origin.revision <= known.revision;
        let renewed = is_earlier && all.contains(&found.owner);
        self.store
            .own(&own, if renewed { origin.revision } else { 0 })?;
        let listing = self.store.list(0)?;
        if !all.contains(&listing.owner) {
            let owner = &listing.owner;
            let what = format!(
                "the registry has the list of another gateway below `prefix`, that with the key {owner}; give this one \
                 another prefix, or remove the key `owner` there if that was this gateway's"
            );
            return Err(self.source.wrong(None, what));
        }
        let is_same = listing.origin == found.origin;
        if origin.revision != 0 && is_same == renewed {
            // It has become another one again.
            return Err(changed_meanwhile());
        }
        self.copied = Copied {
            origin: listing.origin,
            ..Copied::default()
        };
        Ok(listing)
    }

    /// Returns the keys that the registry had and has no more.
    fn gone(&self, listing: &Listing) -> Result<BTreeSet<String>, Failure> {
        let known = &self.copied.keys;
        let added = listing
            .entries
            .iter()
            .filter(|(key, _)| !known.contains(key));
        if known.len() + added.count() == listing.count {
            return Ok(BTreeSet::new());
        }
        let present = self.store.keys(listing.revision)?;
        // They may be those of another list by now.
        if self.copied.is_before(&self.store.list(listing.revision)?) {
            return Err(changed_meanwhile());
        }
        Ok(known - &present)
    }

    /// Returns the changes that lead from the folders to the registry.
    fn changes(
        &self,
        listing: &Listing,
        gone: &BTreeSet<String>,
        outcome: &mut Outcome,
    ) -> Result<Vec<Difference>, Failure> {
        let mut changes = Vec::new();
        for key in gone {
            if let Some((kind, name)) = host_of(key)
                && self.folders.text(kind, &name.0)?.is_some()
            {
                let (name, text) = (name.0, None);
                changes.push(Difference { kind, name, text });
            }
        }
        let mut entries = self.copied.refused.clone();
        entries.retain(|key, _| !gone.contains(key));
        entries.extend(listing.entries.iter().cloned());
        for (key, text) in entries {
            let host = host_of(&key).filter(|(kind, _)| self.folders.folder(*kind).is_some());
            let Some((kind, Name(name))) = host else {
                let what = format!(
                    "the registry has the key '{}', which is no host's",
                    key.escape_debug()
                );
                outcome.refuse(key, text, Failure::setting(what));
                continue;
            };
            if self.folders.text(kind, &name)?.as_ref() != Some(&text) {
                let text = Some(text);
                changes.push(Difference { kind, name, text });
            }
        }
        Ok(changes)
    }

    /// Divides changes into those that leave a valid configuration, and the others. All of them together may be valid
    /// where some alone are not, such as two that exchange an address.
    fn accept(&self, changes: Vec<Difference>, outcome: &mut Outcome) -> Result<(), Failure> {
        let mut config = GatewayConfig::load(&self.source)?;
        if self.take(&mut config, &changes).is_ok() {
            outcome.accepted = changes;
            return Ok(());
        }
        // What one of them needs may come with a later one.
        let mut left = changes;
        loop {
            let before = left.len();
            outcome.errors.clear();
            let mut refused = Vec::new();
            for change in left {
                match self.take(&mut config, slice::from_ref(&change)) {
                    Ok(()) => outcome.accepted.push(change),
                    Err(error) => {
                        outcome.errors.push(error);
                        refused.push(change);
                    }
                }
            }
            left = refused;
            if left.len() == before {
                break;
            }
        }
        for change in left {
            let key = change.key();
            match change.text {
                Some(text) => drop(outcome.refused.insert(key, text)),
                None => drop(outcome.needed.insert(key)),
            }
        }
        Ok(())
    }

    /// Has a configuration take changes, if it is valid with them.
    fn take(&self, config: &mut GatewayConfig, changes: &[Difference]) -> Result<(), Failure> {
        let mut texts = BTreeMap::<Kind, Texts>::new();
        for Difference { kind, name, text } in changes {
            let former = config.former_of(*kind).text();
            let texts = texts.entry(*kind).or_insert_with(|| Texts {
                former: former.into(),
                ..Texts::default()
            });
            match text {
                Some(text) => drop(texts.hosts.insert(file_of(name), text.clone())),
                None => drop(texts.gone.insert(file_of(name))),
            }
        }
        config.renew(&self.source, &texts)
    }

    /// Makes a change in the folders, and notes keys that count no more: their owners are told so.
    fn copy(&self, change: Difference) -> Result<(), Failure> {
        let Difference { kind, name, text } = change;
        let former = self.folders.text(kind, &name)?.unwrap_or_default();
        let former = &keys_in(&former) - &keys_in(text.as_deref().unwrap_or_default());
        if let Some(folder) = self.folders.folder(kind).filter(|_| !former.is_empty()) {
            let reason = match text {
                Some(_) => Decline::Replaced,
                None => Decline::Revoked,
            };
            FormerKeys::read(folder).note(folder, former, reason)?;
        }
        self.folders.apply(&match text {
            Some(text) => Change::Put { kind, name, text },
            None => Change::Remove { kind, name },
        })
    }

    /// Adds the hosts to the registry that it never had. If it is new to this gateway, an empty one or one of an
    /// earlier day, also takes entries out of it that are older than what this gateway knew `before`; returns the keys
    /// of those.
    fn teach(
        &mut self,
        listing: &Listing,
        before: Option<&Copied>,
    ) -> Result<BTreeSet<String>, Failure> {
        let stale = before.map(|before| self.stale(listing, before));
        let stale = stale.transpose()?.unwrap_or_default();
        let listed = listing.entries.iter().map(|(key, _)| key);
        let had: BTreeSet<_> = listed.filter(|key| !stale.contains(*key)).collect();
        let mut own = BTreeMap::new();
        for kind in Kind::ALL {
            for name in self.folders.names(kind)? {
                let key = key_of(kind, &name);
                if !had.contains(&key) && !self.copied.keys.contains(&key) {
                    own.insert(key, self.folders.text(kind, &name)?.unwrap_or_default());
                }
            }
        }
        let puts = own.iter().map(|(key, text)| Write::Put(key, text));
        let deletes = stale.iter().filter(|key| !own.contains_key(*key));
        let deletes = deletes.map(|key| Write::Delete(key));
        let writes: Vec<_> = puts.chain(deletes).collect();
        for some in writes.chunks(MOST_WRITES) {
            self.write(some)?;
        }
        Ok(stale)
    }

    /// Returns the keys of entries that are older than the folders: one has a public key that counts no more, or that
    /// a host by another name has now, or it lacks one that its host has got since.
    fn stale(&self, listing: &Listing, before: &Copied) -> Result<BTreeSet<String>, Failure> {
        let (mut hosts, mut former) = (BTreeMap::new(), BTreeSet::new());
        for kind in Kind::ALL {
            for name in self.folders.names(kind)? {
                let text = self.folders.text(kind, &name)?.unwrap_or_default();
                hosts.insert(key_of(kind, &name), keys_in(&text));
            }
            if let Some(folder) = self.folders.folder(kind) {
                let keys = FormerKeys::read(folder).at(unix_seconds()).into_iter();
                former.extend(keys.map(|(key, _)| key));
            }
        }
        // Their hosts were not removed.
        for text in before.refused.values() {
            former = &former - &keys_in(text);
        }
        let each = hosts.iter();
        let each = each.flat_map(|(name, keys)| keys.iter().map(move |key| (key, name)));
        let names: BTreeMap<_, _> = each.collect();
        let is_stale = |(name, text): &&(String, String)| {
            let (keys, present) = (keys_in(text), hosts.get(name));
            let lacks_one =
                present.is_some_and(|present| keys.is_subset(present) && keys != *present);
            let is_old = |key: &PublicKey| match names.get(key) {
                Some(its) => *its != name && present.is_none(),
                None => former.contains(key),
            };
            lacks_one || keys.iter().any(is_old)
        };
        let stale = listing.entries.iter().filter(is_stale);
        Ok(stale.map(|(name, _)| name.clone()).collect())
    }

    /// Writes to the registry what it has not changed itself since it was read.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<(), Failure> {
        let keys = writes.iter().map(Write::key);
        let was = State {
            revision: self.copied.revision,
            written: self.copied.written,
            present: keys.filter(|key| self.copied.keys.contains(*key)).collect(),
        };
        let Some(revision) = self.store.write(writes, &was)? else {
            return self.recognize(writes);
        };
        self.note(writes, revision, revision);
        Ok(())
    }

    /// Returns without an error if the registry has exactly this already: a member may have done it, and not answered.
    fn recognize(&mut self, writes: &[Write<'_>]) -> Result<(), Failure> {
        let listing = self.store.list(self.copied.revision)?;
        let present = self.store.keys(listing.revision)?;
        let is_done = |write: &Write<'_>| match write {
            Write::Put(key, text) => {
                let mut entries = listing.entries.iter();
                entries.any(|(its, value)| (its.as_str(), value.as_str()) == (*key, *text))
            }
            Write::Delete(key) => !present.contains(*key),
        };
        let is_ours = |(key, _): &(String, String)| {
            let mut puts = writes.iter();
            puts.any(|write| matches!(write, Write::Put(its, _) if its == key))
        };
        let is_same = !self.copied.is_before(&listing);
        if is_same && writes.iter().all(is_done) && listing.entries.iter().all(is_ours) {
            self.note(writes, listing.revision, listing.written);
            return Ok(());
        }
        Err(changed_meanwhile())
    }

    /// Takes note of writes that were done, the last of a gateway by now.
    fn note(&mut self, writes: &[Write<'_>], revision: i64, written: i64) {
        (self.copied.revision, self.copied.written) = (revision, written);
        for write in writes {
            // An entry that was not taken is there no more.
            self.copied.refused.remove(write.key());
            match write {
                Write::Put(key, _) => self.copied.keys.insert((*key).into()),
                Write::Delete(key) => self.copied.keys.remove(*key),
            };
        }
    }
}

impl<S: Store> Registry for Mirror<S> {
    fn is_elsewhere(&self) -> bool {
        true
    }

    fn refresh(&mut self) -> Result<Vec<Failure>, Failure> {
        // Others may have changed them.
        self.source = Source::read(self.source.path())?;
        self.copied = Copied::read(&self.folders);
        let before = self.copied.clone();
        let mut listing = self.store.list(self.copied.revision)?;
        let mut is_new = false;
        if self.copied.is_before(&listing) {
            listing = self.begin(&listing)?;
            is_new = true;
        }
        let gone = self.gone(&listing)?;
        self.copied.revision = listing.revision;
        self.copied.written = listing.written;
        let stale = self.teach(&listing, is_new.then_some(&before))?;
        listing.entries.retain(|(key, _)| !stale.contains(key));
        let mut outcome = Outcome::default();
        let changes = self.changes(&listing, &gone, &mut outcome)?;
        if !changes.is_empty() {
            self.accept(changes, &mut outcome)?;
        }
        for change in outcome.accepted {
            self.copy(change)?;
        }
        let keys = listing.entries.into_iter().map(|(key, _)| key);
        self.copied.keys.extend(keys);
        self.copied
            .keys
            .retain(|key| !gone.contains(key) || outcome.needed.contains(key));
        self.copied.refused = outcome.refused;
        if self.copied != before {
            self.copied.write(&self.folders)?;
        }
        Ok(outcome.errors)
    }

    fn commit(&mut self, change: &Change) -> Result<(), Failure> {
        let text;
        let (put, delete) = match change {
            Change::Put { kind, name, text } => (Some((key_of(*kind, name), text)), None),
            Change::Remove { kind, name } => (None, Some(key_of(*kind, name))),
            Change::Rename { kind, name, other } => {
                text = self.folders.text(*kind, name)?.unwrap_or_default();
                (
                    Some((key_of(*kind, other), &text)),
                    Some(key_of(*kind, name)),
                )
            }
        };
        let put = put.as_ref().map(|(key, text)| Write::Put(key, text));
        let delete = delete.as_ref().map(|key| Write::Delete(key));
        let writes: Vec<_> = put.into_iter().chain(delete).collect();
        let mut keys = writes.iter().map(Write::key);
        let is_refused = |key: &&str| self.copied.refused.contains_key(*key);
        // What is changed here is an older text than that.
        if !matches!(change, Change::Remove { .. })
            && let Some(key) = keys.find(is_refused)
        {
            let what = format!(
                "the registry has an entry '{key}' that this gateway does not take; correct or remove that first"
            );
            return Err(Failure::setting(what));
        }
        self.write(&writes)?;
        self.folders.apply(change)?;
        self.copied.write(&self.folders)
    }
}

fn changed_meanwhile() -> Failure {
    let what =
        "the list in the registry was changed by somebody else at the same time; run this again";
    Failure::setting(what)
}

/// Returns the public keys of a host and of its invitation. What is no entry of a host has none.
pub(super) fn keys_in(text: &str) -> BTreeSet<PublicKey> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let invitation = table.get("invitation").and_then(toml::Value::as_table);
    let tables = [Some(&table), invitation].into_iter().flatten();
    let keys = tables.filter_map(|table| table.get("public_key")?.as_str()?.parse().ok());
    keys.collect()
}
