//! Files that are replaced as a whole, and survive a loss of power.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::failure::Failure;

/// Returns the error of a file operation, with its remedy.
pub(super) fn failed(operation: &str, path: &Path, error: &io::Error) -> Failure {
    let name = path.display();
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space and try again"
        }
        io::ErrorKind::ReadOnlyFilesystem => "; choose a folder that can be written with --state",
        io::ErrorKind::PermissionDenied => {
            "; run this as root, or choose another folder with --state"
        }
        _ => "",
    };
    Failure::setting(format!("cannot {operation} {name}: {error}{remedy}"))
}

/// Creates a folder that only this user may open, with those above it.
pub(crate) fn create_folder(path: &Path) -> Result<(), Failure> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(|error| failed("create the folder", path, &error))
}

/// Replaces the text of a file, or creates the file, readable by this user alone: after a crash it has the former text
/// or this one, and after success this one.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let draft = draft_of(path);
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&draft, path)?;
        sync_folder_of(path)
    };
    write().map_err(|error| {
        // If it is not there, nothing is left to do.
        let _ = std::fs::remove_file(&draft);
        failed("write", path, &error)
    })
}

/// Waits until nobody else has the lock of this name, and takes it until the file is dropped.
pub(super) fn lock(path: &Path) -> Result<File, Failure> {
    let locked = open_lock(path).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| failed("lock", path, &error))
}

/// Takes the lock of this name until the file is dropped, unless somebody else has it.
pub(super) fn try_lock(path: &Path) -> Result<Option<File>, Failure> {
    let file = open_lock(path).map_err(|error| failed("lock", path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed("lock", path, &error)),
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options.open(path)
}

/// Removes a file for good.
pub(crate) fn remove(path: &Path) -> Result<(), Failure> {
    let removed = std::fs::remove_file(path).and_then(|()| sync_folder_of(path));
    removed.map_err(|error| failed("remove", path, &error))
}

/// Gives a file another name, in one step.
pub(crate) fn move_to(path: &Path, other: &Path) -> Result<(), Failure> {
    let moved = std::fs::rename(path, other).and_then(|()| sync_folder_of(other));
    moved.map_err(|error| failed("rename", path, &error))
}

fn draft_of(path: &Path) -> std::path::PathBuf {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    draft.into()
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
