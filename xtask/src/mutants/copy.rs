//! A copy of the repository in which code may be changed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::shell::{Failure, Shell};

/// A copy of the repository's files, with changes that are not committed, and without builds.
pub(super) struct Copy {
    /// The root of the copy.
    pub(super) root: PathBuf,
}

impl Copy {
    /// Makes the copy equal to the repository. Files that are equal already keep their times, so that cargo need not
    /// build them again.
    pub(super) fn refresh(shell: &Shell, root: PathBuf) -> Result<Self, Failure> {
        let mut command = Command::new("git");
        command.current_dir(&shell.root).args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let listed = shell.run(command)?;
        let files: BTreeSet<_> = listed
            .lines()
            .map(PathBuf::from)
            .filter(|path| shell.root.join(path).is_file())
            .collect();
        let copy = Self { root };
        copy.equal(&shell.root, &files)
            .map_err(|source| Failure::Write {
                path: copy.root.clone(),
                source,
            })?;
        Ok(copy)
    }

    /// Copies these files from another root, and removes all others.
    fn equal(&self, from: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
        fs::create_dir_all(&self.root)?;
        let mut present = Vec::new();
        collect(&self.root, &mut present)?;
        for path in present {
            let is_wanted = path
                .strip_prefix(&self.root)
                .is_ok_and(|inside| files.contains(inside));
            if !is_wanted {
                fs::remove_file(path)?;
            }
        }
        for file in files {
            let (source, copied) = (from.join(file), self.root.join(file));
            let content = fs::read(&source)?;
            if fs::read(&copied).is_ok_and(|present| present == content) {
                continue;
            }
            if let Some(folder) = copied.parent() {
                fs::create_dir_all(folder)?;
            }
            // Unlike `fs::copy`, this gives the file a new time.
            fs::write(&copied, content)?;
            fs::set_permissions(&copied, fs::metadata(&source)?.permissions())?;
        }
        Ok(())
    }
}

/// Adds all files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
