//! A list of the registry that may lack what a gateway knows: it was begun anew, or became one of an earlier day.

use std::collections::{BTreeMap, BTreeSet};

use super::copied::Copied;
use super::store::{Listing, Version};
use super::{Folders, key_of, keys_in};
use crate::config::entry::Kind;
use crate::daemon::unix_seconds;
use crate::failure::Failure;
use crate::state::FormerKeys;

/// What such a list has of what the gateway knows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Base {
    /// The gateway knows all changes of entries up to this revision, and what has become of them since.
    pub(super) entries: i64,
    /// It knows all hosts that were there at this revision. The numbers of later ones may count twice.
    pub(super) keys: i64,
}

impl Base {
    /// Returns that of the list in `found`, with which a gateway goes on that knew `before`. If `is_former`, that list
    /// is of an earlier day; else another machine has begun it.
    pub(super) fn of(found: &Listing, before: &Copied, is_former: bool) -> Self {
        let (list, owner) = (&found.version, &found.owner);
        if is_former {
            let known = before.version_of(list.list);
            return known.map_or_else(Self::default, |known| Self {
                entries: known.revision,
                keys: known.written.min(list.written),
            });
        }
        let is_known = |less: &Version| before.versions().any(|known| known.includes(less));
        let revision = if owner.ancestors.iter().all(is_known) {
            owner.same_at
        } else {
            0
        };
        Self {
            entries: revision,
            keys: revision,
        }
    }
}

/// What leads from such a list to what it is to be.
#[derive(Debug, Default)]
pub(super) struct Merge {
    /// What the gateway knew before.
    pub(super) before: Copied,
    /// Keys of entries that are older than what the gateway knows.
    pub(super) stale: BTreeSet<String>,
    /// True if the list has an entry that the gateway does not know.
    pub(super) has_more: bool,
}

impl Merge {
    /// Compares a list with the folders of a gateway that knew `before`; `newer` are the keys of the entries that have
    /// changed since the base.
    pub(super) fn new(
        folders: &Folders,
        before: Copied,
        listing: &Listing,
        base: Base,
        newer: &BTreeSet<String>,
    ) -> Result<Self, Failure> {
        let (mut known, mut former) = (BTreeMap::new(), BTreeSet::new());
        for kind in Kind::ALL {
            for name in folders.names(kind)? {
                let text = folders.text(kind, &name)?.unwrap_or_default();
                known.insert(key_of(kind, &name), text);
            }
            if let Some(folder) = folders.folder(kind) {
                let keys = FormerKeys::read(folder).at(unix_seconds()).into_iter();
                former.extend(keys.map(|(key, _)| key));
            }
        }
        known.extend(before.refused.clone());
        let present: BTreeSet<_> = known.values().flat_map(|text| keys_in(text)).collect();
        // Their hosts were not removed.
        former.retain(|key| !present.contains(key));
        let mut merge = Self {
            before,
            ..Self::default()
        };
        for (key, text) in &listing.entries {
            let (keys, text_here) = (keys_in(text), known.get(key));
            if text_here == Some(text) {
                continue;
            }
            // Without a base, one with a key of a host that has another name, or that lacks one of its host's.
            let seems_old = base.entries == 0
                && match text_here.map(|text| keys_in(text)) {
                    Some(here) => keys.is_subset(&here) && keys != here,
                    None => !keys.is_disjoint(&present),
                };
            if newer.contains(key) && keys.is_disjoint(&former) && !seems_old {
                merge.has_more = true;
            } else {
                merge.stale.insert(key.clone());
            }
        }
        Ok(merge)
    }
}
