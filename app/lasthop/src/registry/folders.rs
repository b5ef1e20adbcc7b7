//! Folders as the list itself: a file for each host.

use std::collections::BTreeMap;
use std::fs::DirEntry;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Change, Registry};
use crate::config::entry::Kind;
use crate::config::gateway::GatewayConfig;
use crate::config::{PEER_ENDING, Source, files_of_hosts};
use crate::failure::Failure;
use crate::state::{move_to, remove, replace};

/// The folders of a gateway, by the kind of the hosts in them.
#[derive(Debug, Clone)]
pub(crate) struct Folders(BTreeMap<Kind, PathBuf>);

impl Folders {
    /// Returns those that a configuration names.
    pub(crate) fn of(source: &Source) -> Result<Self, Failure> {
        GatewayConfig::folders_in(source).map(Self)
    }

    /// Returns the folder of hosts of one kind.
    pub(super) fn folder(&self, kind: Kind) -> Option<&Path> {
        self.0.get(&kind).map(PathBuf::as_path)
    }

    /// Returns the first folder, where there is one.
    pub(super) fn first(&self) -> Option<&Path> {
        self.0.values().next().map(PathBuf::as_path)
    }

    /// Returns the path of the file of a host.
    fn path(&self, kind: Kind, name: &str) -> Result<PathBuf, Failure> {
        let missing = || Failure::setting(format!("`{}` is missing", kind.option()));
        let folder = self.folder(kind).ok_or_else(missing)?;
        Ok(folder.join(file_of(name)))
    }

    /// Returns the names of the hosts of one kind, those of the files in its folder.
    pub(super) fn names(&self, kind: Kind) -> Result<Vec<String>, Failure> {
        let files = self.folder(kind).map(files_of_hosts).transpose()?;
        let name = |file: DirEntry| {
            let path = PathBuf::from(file.file_name());
            path.file_stem()?.to_str().map(str::to_owned)
        };
        Ok(files.into_iter().flatten().filter_map(name).collect())
    }

    /// Returns the text of the file of a host, if it has one.
    pub(super) fn text(&self, kind: Kind, name: &str) -> Result<Option<String>, Failure> {
        let path = self.path(kind, name)?;
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let path = path.display();
                Err(Failure::setting(format!("cannot read {path}: {error}")))
            }
        }
    }

    /// Makes a change.
    pub(super) fn apply(&self, change: &Change) -> Result<(), Failure> {
        match change {
            Change::Put { kind, name, text } => replace(&self.path(*kind, name)?, text),
            Change::Rename { kind, name, other } => {
                move_to(&self.path(*kind, name)?, &self.path(*kind, other)?)
            }
            Change::Remove { kind, name } => remove(&self.path(*kind, name)?),
        }
    }
}

impl Registry for Folders {
    fn is_elsewhere(&self) -> bool {
        false
    }

    fn refresh(&mut self) -> Result<Vec<Failure>, Failure> {
        Ok(Vec::new())
    }

    fn commit(&mut self, change: &Change) -> Result<(), Failure> {
        self.apply(change)
    }
}

/// Returns the name of the file of a host.
pub(crate) fn file_of(name: &str) -> PathBuf {
    format!("{name}.{PEER_ENDING}").into()
}
