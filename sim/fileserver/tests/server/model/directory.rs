//! A directory of this machine.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use super::step::Step;
use super::{Fault, Found, State};

pub(super) struct Directory {
    folder: tempfile::TempDir,
}

impl Directory {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        Self { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(super) fn apply(&self, step: &Step) -> Result<(), Fault> {
        let done = match step {
            Step::Create(path) => {
                let options = OpenOptions::new().write(true).create_new(true).clone();
                options.open(self.at(path)).map(drop)
            }
            Step::Empty(path) => {
                self.no_link(path)?;
                fs::write(self.at(path), b"")
            }
            Step::MakeDirectory(path) => fs::create_dir(self.at(path)),
            Step::MakeLink(path) => symlink("nowhere", self.at(path)),
            Step::Remove(path) => fs::remove_file(self.at(path)),
            Step::RemoveDirectory(path) => fs::remove_dir(self.at(path)),
            Step::Rename(from, to) => fs::rename(self.at(from), self.at(to)),
            Step::Link(from, to) => fs::hard_link(self.at(from), self.at(to)),
            Step::Write {
                path,
                offset,
                length,
                byte,
            } => {
                self.no_link(path)?;
                let file = OpenOptions::new().write(true).open(self.at(path));
                file.and_then(|file| file.write_all_at(&vec![*byte; *length], *offset))
            }
            Step::Resize(path, size) => {
                self.no_link(path)?;
                let file = OpenOptions::new().write(true).open(self.at(path));
                file.and_then(|file| file.set_len(*size))
            }
        };
        done.map_err(|error| fault(&error, step))
    }

    /// Returns an error if the path ends at a symbolic link, which the system would follow and the server does not.
    fn no_link(&self, path: &str) -> Result<(), Fault> {
        let is_link = fs::symlink_metadata(self.at(path)).is_ok_and(|found| found.is_symlink());
        (!is_link).then_some(()).ok_or(Fault::Invalid)
    }

    pub(super) fn state(&self) -> State {
        let mut state = State::new();
        collect(self.folder.path(), "", &mut state).expect("to be read");
        state
    }
}

fn collect(folder: &Path, above: &str, state: &mut State) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{above}{}", entry.file_name().display());
        let metadata = entry.metadata()?;
        let found = if metadata.is_dir() {
            collect(&entry.path(), &format!("{path}/"), state)?;
            Found::Directory
        } else if metadata.is_symlink() {
            let target = fs::read_link(entry.path())?;
            Found::Link(target.as_os_str().as_bytes().to_vec())
        } else {
            Found::File(fs::read(entry.path())?, metadata.nlink())
        };
        state.insert(path, found);
    }
    Ok(())
}

fn fault(error: &io::Error, step: &Step) -> Fault {
    match error.kind() {
        ErrorKind::NotFound => Fault::NoEntry,
        ErrorKind::AlreadyExists => Fault::Exists,
        ErrorKind::NotADirectory => Fault::NotDirectory,
        ErrorKind::IsADirectory => Fault::IsDirectory,
        ErrorKind::DirectoryNotEmpty => Fault::NotEmpty,
        ErrorKind::InvalidInput => Fault::Invalid,
        // Linux reports this for links to directories.
        ErrorKind::PermissionDenied if matches!(step, Step::Link(..)) => Fault::IsDirectory,
        other => panic!("{step:?}: {error} ({other:?})"),
    }
}
