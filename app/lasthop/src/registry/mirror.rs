//! Folders as a copy of the list that etcd has.
//!
//! The list is an entry for each host, below the prefix of the gateway. [`Copied`] has the revision up to which the
//! copies are up to date, and what the registry had then: so an answer of a few bytes shows that nothing has changed, a
//! host that is missing in the registry has been removed there, and one that it never had is added.
//!
//! A list that was lost is begun anew by a gateway with all that it knows. Then the list names its ancestors: a
//! machine that has known no more than they contain takes it as it is, and adds nothing of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::{mem, slice};

use hosts::Decline;

use super::copied::Copied;
use super::folders::file_of;
use super::merge::{Base, Merge};
use super::store::{Listing, Owner, State, Store, Write};
use super::{Change, Folders, Registry, host_of, key_of, keys_in};
use crate::config::Source;
use crate::config::entry::{Kind, Texts};
use crate::config::gateway::GatewayConfig;
use crate::config::values::Name;
use crate::failure::Failure;
use crate::state::FormerKeys;

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

    /// Goes on with the list in `found`, which is another one than that which is known; returns all of it, and how it
    /// is merged with what is known here if it may lack some of that.
    fn change_list(&mut self, found: &Listing) -> Result<(Listing, Option<Merge>), Failure> {
        let keys = GatewayConfig::load(&self.source)?.keys(&self.source)?;
        let own = keys.key.public_key().to_string();
        let former = keys.former.into_iter().chain(keys.ended);
        let former = former.map(|key| key.public_key().to_string());
        let all: BTreeSet<_> = former.chain([own.clone()]).collect();
        let is_ours = all.contains(&found.owner.public_key);
        // Other machines with its keys are to see that one of an earlier day is another list.
        let number = found.version.list;
        let former = self.copied.version_of(number).filter(|_| is_ours);
        let is_former = former.is_some();
        if !self.copied.is_within(found) {
            let (next, written) = match former {
                Some(known) => {
                    let next = found.owner.after(&found.version, known);
                    (next, found.version.written)
                }
                None => (Owner::default(), 0),
            };
            let public_key = own;
            self.store.own(Owner { public_key, ..next }, written)?;
        }
        let listing = self.store.list(0)?;
        let owner = &listing.owner.public_key;
        if owner.is_empty() {
            return Err(changed_meanwhile());
        }
        if !all.contains(owner) {
            let what = format!(
                "the registry has the list of another gateway below `prefix`, that with the key {owner}; give this one \
                 another prefix, or remove the key `owner` there if that was this gateway's"
            );
            return Err(self.source.wrong(None, what));
        }
        if is_ours && (listing.version.list == number) == is_former {
            // It has become another one again.
            return Err(changed_meanwhile());
        }
        if self.copied.is_within(&listing) {
            return Ok((listing, None));
        }
        let merge = self.merge(&listing, is_former.then_some(found))?;
        Ok((listing, Some(merge)))
    }

    /// Compares what is known here with a list that may lack some of it, and that has taken the place of `former`, one
    /// of an earlier day, if it was one.
    fn merge(&mut self, listing: &Listing, former: Option<&Listing>) -> Result<Merge, Failure> {
        let before = mem::take(&mut self.copied);
        let base = Base::of(former.unwrap_or(listing), &before, former.is_some());
        let newer = self.store.list(base.entries)?;
        // Its revision may be a later one: others use etcd, too.
        let (now, then) = (newer.version, listing.version);
        if (now.list, now.written) != (then.list, then.written) {
            return Err(changed_meanwhile());
        }
        let newer = newer.entries.into_iter().map(|(key, _)| key).collect();
        if base.keys > 0 {
            self.copied.keys = self.store.keys(base.keys)?.unwrap_or_default();
        }
        Merge::new(&self.folders, before, listing, base, &newer)
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
        let present = self.store.keys(listing.version.revision)?;
        let present = present.ok_or_else(changed_meanwhile)?;
        // They may be those of another list by now.
        if self
            .copied
            .is_before(&self.store.list(listing.version.revision)?)
        {
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

    /// Adds the hosts to the registry that it never had. If it may lack what is known here, also puts that in place of
    /// entries that are older.
    fn teach(&mut self, listing: &Listing, merge: &Merge) -> Result<(), Failure> {
        let Merge { before, stale, .. } = merge;
        let listed = listing.entries.iter().map(|(key, _)| key);
        let (listed, had): (BTreeSet<_>, _) = (listed.collect(), &self.copied.keys);
        let is_own =
            |key: &String| stale.contains(key) || !(listed.contains(key) || had.contains(key));
        let mut refused = before.refused.clone();
        refused.retain(|key, _| is_own(key));
        let mut own = BTreeMap::new();
        for kind in Kind::ALL {
            for name in self.folders.names(kind)? {
                let key = key_of(kind, &name);
                if is_own(&key) {
                    own.insert(key, self.folders.text(kind, &name)?.unwrap_or_default());
                }
            }
        }
        own.extend(refused.clone());
        let puts = own.iter().map(|(key, text)| Write::Put(key, text));
        let deletes = stale.iter().filter(|key| !own.contains_key(*key));
        let deletes = deletes.map(|key| Write::Delete(key));
        let writes: Vec<_> = puts.chain(deletes).collect();
        for some in writes.chunks(MOST_WRITES) {
            self.write(some, None)?;
        }
        self.copied.refused.extend(refused);
        Ok(())
    }

    /// Writes into the registry that its list contains all that was known before a merge.
    fn name_ancestors(&mut self, listing: &Listing, merge: &Merge) -> Result<(), Failure> {
        let mut owner = listing.owner.clone();
        for version in merge.before.versions() {
            owner.add_ancestor(*version);
        }
        let before = &listing.owner.ancestors;
        if owner.ancestors != *before {
            if before.is_empty() && !merge.has_more {
                owner.same_at = self.copied.version.revision;
            }
            self.write(&[], Some(&owner))?;
        }
        self.copied.ancestors = owner.ancestors;
        Ok(())
    }

    /// Writes to the registry what it has not changed itself since it was read, and whose list it is, if that is given.
    fn write(&mut self, writes: &[Write<'_>], owner: Option<&Owner>) -> Result<(), Failure> {
        let keys = writes.iter().map(Write::key);
        let was = State {
            version: self.copied.version,
            present: keys.filter(|key| self.copied.keys.contains(*key)).collect(),
        };
        let Some(revision) = self.store.write(writes, owner, &was)? else {
            return self.recognize(writes, owner);
        };
        let version = &mut self.copied.version;
        (version.written, version.revision) = (revision, revision);
        self.note(writes);
        Ok(())
    }

    /// Returns without an error if the registry has exactly this already: a member may have done it, and not answered.
    fn recognize(&mut self, writes: &[Write<'_>], owner: Option<&Owner>) -> Result<(), Failure> {
        let listing = self.store.list(self.copied.version.revision)?;
        let present = self.store.keys(listing.version.revision)?;
        let present = present.ok_or_else(changed_meanwhile)?;
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
        let is_same =
            !self.copied.is_before(&listing) && owner.is_none_or(|owner| *owner == listing.owner);
        if is_same && writes.iter().all(is_done) && listing.entries.iter().all(is_ours) {
            self.copied.version = listing.version;
            self.note(writes);
            return Ok(());
        }
        Err(changed_meanwhile())
    }

    /// Takes note of writes that were done.
    fn note(&mut self, writes: &[Write<'_>]) {
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
        let mut listing = self.store.list(self.copied.version.revision)?;
        let mut merge = None;
        if self.copied.is_before(&listing) {
            (listing, merge) = self.change_list(&listing)?;
        }
        self.copied.note(&listing);
        let gone = self.gone(&listing)?;
        let merge = merge.unwrap_or_default();
        self.teach(&listing, &merge)?;
        self.name_ancestors(&listing, &merge)?;
        let entries = &mut listing.entries;
        entries.retain(|(key, _)| !merge.stale.contains(key));
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
        self.write(&writes, None)?;
        self.folders.apply(change)?;
        self.copied.write(&self.folders)
    }
}

fn changed_meanwhile() -> Failure {
    let what =
        "the list in the registry was changed by somebody else at the same time; run this again";
    Failure::setting(what)
}
