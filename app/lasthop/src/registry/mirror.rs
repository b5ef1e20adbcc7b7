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
use super::store::{Listing, Origin, Store, Write};
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

    /// Begins a copy of a list that this gateway has not known, and returns that: its own one.
    fn begin(&mut self) -> Result<Listing, Failure> {
        let keys = GatewayConfig::load(&self.source)?.keys(&self.source)?;
        let own = keys.key.public_key().to_string();
        self.store.own(&own)?;
        let listing = self.store.list(0)?;
        let former = keys.former.into_iter().chain(keys.ended);
        let mut all = former.map(|key| key.public_key().to_string()).chain([own]);
        if !all.any(|own| own == listing.owner) {
            let owner = &listing.owner;
            let what = format!(
                "the registry has the list of another gateway below `prefix`, that with the key {owner}; give this one \
                 another prefix, or remove the key `owner` there if that was this gateway's"
            );
            return Err(self.source.wrong(None, what));
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
        for change in changes {
            match (
                self.take(&mut config, slice::from_ref(&change)),
                change.text.clone(),
            ) {
                (Ok(()), _) => outcome.accepted.push(change),
                (Err(error), Some(text)) => outcome.refuse(change.key(), text, error),
                (Err(error), None) => outcome.errors.push(error),
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
    /// earlier day, also removes from it the hosts whose keys were revoked here; returns the keys of those.
    fn teach(&mut self, listing: &Listing, is_new: bool) -> Result<BTreeSet<String>, Failure> {
        let had: BTreeSet<_> = listing.entries.iter().map(|(key, _)| key).collect();
        let (mut own, mut revoked) = (Vec::new(), BTreeSet::new());
        for kind in Kind::ALL {
            for name in self.folders.names(kind)? {
                let key = key_of(kind, &name);
                if !had.contains(&key) && !self.copied.keys.contains(&key) {
                    own.push((key, self.folders.text(kind, &name)?.unwrap_or_default()));
                }
            }
            if let Some(folder) = self.folders.folder(kind).filter(|_| is_new) {
                let former = FormerKeys::read(folder).at(unix_seconds()).into_iter();
                let former = former.filter(|(_, reason)| *reason == Decline::Revoked);
                revoked.extend(former.map(|(key, _)| key));
            }
        }
        let is_revoked = |text| !revoked.is_disjoint(&keys_in(text));
        let stale = listing.entries.iter().filter(|(_, text)| is_revoked(text));
        let stale: BTreeSet<_> = stale.map(|(key, _)| key.clone()).collect();
        let puts = own.iter().map(|(key, text)| Write::Put(key, text));
        let deletes = stale.iter().map(|key| Write::Delete(key));
        let writes: Vec<_> = puts.chain(deletes).collect();
        for some in writes.chunks(MOST_WRITES) {
            self.write(some)?;
        }
        Ok(stale)
    }

    /// Writes to the registry what it has not changed itself since it was read.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<(), Failure> {
        let Some(revision) = self.store.write(writes, self.copied.revision)? else {
            return self.recognize(writes);
        };
        self.copied.revision = revision;
        self.note(writes);
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
        if writes.iter().all(is_done) && listing.entries.iter().all(is_ours) {
            self.copied.revision = listing.revision;
            self.note(writes);
            return Ok(());
        }
        let what = "the list in the registry was changed by somebody else at the same time; run this again";
        Err(Failure::setting(what))
    }

    fn note(&mut self, writes: &[Write<'_>]) {
        for write in writes {
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
        if listing.origin != self.copied.origin || listing.revision < self.copied.revision {
            listing = self.begin()?;
            is_new = true;
        }
        let gone = self.gone(&listing)?;
        self.copied.revision = listing.revision;
        let stale = self.teach(&listing, is_new)?;
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
        self.copied.keys.retain(|key| !gone.contains(key));
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
        self.write(&writes)?;
        self.folders.apply(change)?;
        self.copied.write(&self.folders)
    }
}

/// Returns the public keys of a host and of its invitation. What is no entry of a host has none.
fn keys_in(text: &str) -> BTreeSet<PublicKey> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let invitation = table.get("invitation").and_then(toml::Value::as_table);
    let tables = [Some(&table), invitation].into_iter().flatten();
    let keys = tables.filter_map(|table| table.get("public_key")?.as_str()?.parse().ok());
    keys.collect()
}
