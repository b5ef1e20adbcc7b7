//! Files and folders of the repository, with errors that name them.

use std::fs;
use std::path::{Path, PathBuf};

use xtask::shell::Failure;

/// Returns the paths of what is in a folder, in the order of their names.
pub(crate) fn of_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |source| Failure::Read {
        path: folder.into(),
        source,
    };
    let entries = fs::read_dir(folder).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// Returns the text of a file.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|source| Failure::Read {
        path: path.into(),
        source,
    })
}
