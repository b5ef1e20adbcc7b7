//! The record of a switch: a file beside the undo files, written before the change, so that it can be taken back after
//! any end. It is named `<instance>-<number of the network namespace>.resolver`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::switch::Way;

const ENDING: &str = "resolver";
const MOUNTED_ENDING: &str = "resolv.conf";

/// What was changed, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) way: Way,
    /// Link of the hop.
    pub(super) link: String,
    /// The file that programs read, behind its links; empty if no file is changed.
    pub(super) target: PathBuf,
}

/// The place of a record.
#[derive(Debug, Clone)]
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn new(folder: &Path, instance: &str, namespace: u64) -> Self {
        Self(folder.join(format!("{instance}-{namespace}.{ENDING}")))
    }

    /// Returns the places of all records of a network namespace, with the undo file of each instance.
    pub(super) fn all(folder: &Path, namespace: u64) -> io::Result<Vec<Self>> {
        let ending = format!("-{namespace}.{ENDING}");
        let mut places = Vec::new();
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(places),
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.ends_with(&ending)) {
                places.push(Self(entry.path()));
            }
        }
        Ok(places)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the undo file of the same instance.
    pub(super) fn undo_file(&self) -> PathBuf {
        self.0.with_extension("undo")
    }

    /// Returns the file that is mounted over another one.
    pub(super) fn mounted(&self) -> PathBuf {
        self.0.with_extension(MOUNTED_ENDING)
    }

    /// Reads the record. A damaged one is an error.
    pub(super) fn read(&self) -> io::Result<Option<Record>> {
        match fs::read(&self.0) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn write(&self, record: &Record) -> io::Result<()> {
        let draft = self.0.with_extension("resolver-draft");
        fs::write(&draft, serde_json::to_vec(record)?)?;
        fs::rename(&draft, &self.0)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.0)
    }
}
