//! What a gateway knows of its registry: a file beside the copies of the entries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Folders;
use super::store::{Listing, Version};
use crate::failure::Failure;
use crate::state::replace;

/// Name of the file, in the first folder.
const FILE: &str = "registry.json";

/// What is known of the registry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Copied {
    cluster: u64,
    /// The version that is in the folders.
    #[serde(flatten)]
    pub(super) version: Version,
    /// Former lists that are in it.
    pub(super) ancestors: Vec<Version>,
    /// Keys that it has.
    pub(super) keys: BTreeSet<String>,
    /// Entries that this gateway did not take: they are tried again each time.
    pub(super) refused: BTreeMap<String, String>,
}

impl Copied {
    /// Reads it. A file that is missing or damaged is made anew.
    pub(super) fn read(folders: &Folders) -> Self {
        let text = path_in(folders).and_then(|path| std::fs::read_to_string(path).ok());
        let read = text.and_then(|text| serde_json::from_str(&text).ok());
        read.unwrap_or_default()
    }

    /// Writes it.
    pub(super) fn write(&self, folders: &Folders) -> Result<(), Failure> {
        let Some(path) = path_in(folders) else {
            return Ok(());
        };
        let text = serde_json::to_string(self).map_err(Failure::broken)?;
        replace(&path, &text)
    }

    /// Returns true if this listing is of another list, or of an earlier day.
    pub(super) fn is_before(&self, listing: &Listing) -> bool {
        let (known, found) = (&self.version, &listing.version);
        listing.cluster != self.cluster
            || found.list != known.list
            || found.revision < known.revision
            || found.written < known.written
    }

    /// Takes note of the version of a listing.
    pub(super) fn note(&mut self, listing: &Listing) {
        (self.cluster, self.version) = (listing.cluster, listing.version);
        self.ancestors.clone_from(&listing.owner.ancestors);
    }

    /// Returns true if this listing is of a list that contains all that is known here.
    pub(super) fn is_within(&self, listing: &Listing) -> bool {
        let mut ancestors = listing.owner.ancestors.iter();
        ancestors.any(|ancestor| ancestor.includes(&self.version))
    }

    /// Returns what is known of the list with this number.
    pub(super) fn version_of(&self, list: u64) -> Option<&Version> {
        self.versions().find(|known| known.list == list)
    }

    /// Returns what is known of each list, the present one last.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Version> {
        self.ancestors.iter().chain([&self.version])
    }
}

fn path_in(folders: &Folders) -> Option<PathBuf> {
    Some(folders.first()?.join(FILE))
}
