//! The folder of undo files, and recovery from those of dead processes.
//!
//! A file is named `<instance>-<number of the network namespace>.undo`. Files of other namespaces are left to processes
//! that start there.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ipnet::IpNet;

use super::error::{UndoError, file_error};
use super::file::{self, Line, Owner};
use super::step::UndoStep;
use crate::namespace::{Namespace, NamespaceId};
use crate::netlink::Netlink;

/// Length of the longest instance name, in bytes.
const LONGEST_INSTANCE: usize = 64;
/// Extensions of undo files, and of files of standing changes.
const UNDO: &str = "undo";
const STANDING: &str = "standing";
/// Permissions of the folder that only the owner may have.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Recovery from one dead process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The undo file that it left.
    pub path: PathBuf,
    /// Number of steps taken now.
    pub undone: usize,
    /// Descriptions of damage and failures. Failed steps were moved to the new log.
    pub warnings: Vec<String>,
}

/// Returns the end of the names of this namespace's files.
fn ending(namespace: NamespaceId, extension: &str) -> String {
    format!("-{}.{extension}", namespace.inode)
}

/// Returns the addresses that the living process `instance` has added to this network namespace.
///
/// # Errors
/// System errors; `NotFound` if there is no such process, or none that has changed anything.
pub fn daemon_addresses(folder: &Path, instance: &str) -> io::Result<Vec<IpNet>> {
    let namespace = Namespace::current().map_err(io::Error::other)?;
    let path = folder.join(format!("{instance}{}", ending(namespace.id(), UNDO)));
    let content = file::read(&path)?;
    if !content.owner.as_ref().is_some_and(Owner::is_alive) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let address = |step: UndoStep| match step {
        UndoStep::RemoveAddress { address, .. } => Some(address),
        UndoStep::DeleteLink { .. }
        | UndoStep::RemoveRoute { .. }
        | UndoStep::RemoveProxy { .. }
        | UndoStep::RemoveRule { .. }
        | UndoStep::RestoreSysctl { .. }
        | UndoStep::RemoveTable { .. } => None,
    };
    Ok(content.steps.into_iter().filter_map(address).collect())
}

/// Returns true if the process that owns the undo file at `path` lives.
pub(crate) fn is_alive(path: &Path) -> bool {
    let content = file::read(path).unwrap_or_default();
    content.owner.is_some_and(|owner| owner.is_alive())
}

/// Steps of dead processes still to take, completed recoveries, and files that are no longer needed.
pub(super) type Recovered = (Vec<UndoStep>, Vec<Recovery>, Vec<PathBuf>);

/// The folder, locked against other processes that start at the same time.
pub(super) struct StateFolder {
    path: PathBuf,
    namespace: NamespaceId,
    /// Held until the new log exists.
    _lock: File,
}

impl StateFolder {
    /// Opens or creates the folder.
    pub(super) fn open(path: &Path, namespace: NamespaceId) -> Result<Self, UndoError> {
        let error = file_error(path);
        DirBuilder::new()
            .recursive(true)
            // Each file has its own permissions; the signals socket is for all users.
            .mode(0o755)
            .create(path)
            .map_err(&error)?;
        let metadata = fs::metadata(path).map_err(&error)?;
        let own = rustix::process::geteuid().as_raw();
        if metadata.uid() != own || metadata.mode() & WRITABLE_BY_OTHERS != 0 {
            return Err(UndoError::UnsafeFolder(path.into()));
        }
        let lock = private_file()
            .truncate(false)
            .open(path.join("lock"))
            .map_err(&error)?;
        lock.lock().map_err(&error)?;
        Ok(Self {
            path: path.into(),
            namespace,
            _lock: lock,
        })
    }

    /// Returns the path of the undo file of `instance`.
    pub(super) fn path_of(&self, instance: &str) -> Result<PathBuf, UndoError> {
        let sound = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if instance.is_empty() || instance.len() > LONGEST_INSTANCE || !instance.bytes().all(sound)
        {
            return Err(UndoError::InvalidInstance(instance.into()));
        }
        Ok(self.path.join(format!("{instance}{}", self.ending(UNDO))))
    }

    /// Returns the path of the file of standing changes of `instance`.
    pub(super) fn path_of_standing(&self, instance: &str) -> Result<PathBuf, UndoError> {
        Ok(self.path_of(instance)?.with_extension(STANDING))
    }

    /// Returns the files of standing changes of instances of which no process lives.
    pub(super) fn abandoned(&self) -> Result<Vec<PathBuf>, UndoError> {
        let mut standing = self.files(STANDING)?;
        standing.retain(|path| !is_alive(&path.with_extension(UNDO)));
        Ok(standing)
    }

    fn ending(&self, extension: &str) -> String {
        ending(self.namespace, extension)
    }

    /// Undoes the changes of dead processes in this namespace, but for the tables of `instance`.
    ///
    /// # Errors
    /// [`UndoError::Running`] if `instance` itself is alive; then nothing was changed.
    pub(super) fn recover(
        &self,
        instance: &str,
        netlink: &mut Netlink,
    ) -> Result<Recovered, UndoError> {
        let own = self.path_of(instance)?;
        let mut dead = Vec::new();
        for path in self.files(UNDO)? {
            let content = file::read(&path).map_err(file_error(&path))?;
            match content.owner.as_ref().filter(|owner| owner.is_alive()) {
                None => dead.push((path, content)),
                Some(owner) if path == own => {
                    return Err(UndoError::Running {
                        instance: instance.into(),
                        pid: owner.pid,
                    });
                }
                Some(_) => {}
            }
        }
        let mut recovered = Recovered::default();
        for (path, content) in dead {
            let mut recovery = Recovery {
                path: path.clone(),
                undone: 0,
                warnings: Vec::new(),
            };
            let warn = |reason: String| format!("{}: {reason}", path.display());
            recovery
                .warnings
                .extend(content.damage.into_iter().map(warn));
            let mut left = Vec::new();
            for step in content.steps.into_iter().rev() {
                if path == own && matches!(step, UndoStep::RemoveTable { .. }) {
                    left.push(step);
                    continue;
                }
                match step.run(netlink) {
                    Ok(()) => recovery.undone += 1,
                    Err(error) => {
                        recovery.warnings.push(warn(error.to_string()));
                        left.push(step);
                    }
                }
            }
            recovered.0.extend(left.into_iter().rev());
            recovered.1.push(recovery);
            recovered.2.push(path);
        }
        Ok(recovered)
    }

    /// Writes the beginning of a new log, completely or not at all, and opens it for appending.
    pub(super) fn begin(path: &Path, owner: &Owner, steps: &[UndoStep]) -> Result<File, UndoError> {
        let draft = path.with_extension("draft");
        let write = || -> io::Result<File> {
            let mut bytes = Line::Owner(owner.clone()).to_bytes()?;
            for step in steps {
                bytes.extend(Line::Step(step.clone()).to_bytes()?);
            }
            private_file()
                .truncate(true)
                .open(&draft)?
                .write_all(&bytes)?;
            fs::rename(&draft, path)?;
            OpenOptions::new().append(true).open(path)
        };
        write().map_err(file_error(path))
    }

    fn files(&self, extension: &str) -> Result<Vec<PathBuf>, UndoError> {
        let ending = self.ending(extension);
        let list = || -> io::Result<Vec<PathBuf>> {
            let mut paths = Vec::new();
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                let ours = entry
                    .file_name()
                    .to_str()
                    .is_some_and(|name| name.ends_with(&ending));
                if ours && entry.file_type()?.is_file() {
                    paths.push(entry.path());
                }
            }
            paths.sort();
            Ok(paths)
        };
        list().map_err(file_error(&self.path))
    }
}

/// Returns options for a file that only its owner reads and writes.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).write(true).mode(0o600);
    options
}
