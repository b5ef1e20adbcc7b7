//! Two trees that should be equal.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Number of differences that are printed.
const SHOWN: usize = 8;

/// The compared properties of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Type and permissions, as in `st_mode`.
    mode: u32,
    links: u64,
    /// Size in bytes; 0 for directories, where it means nothing.
    size: u64,
    /// The content, or the target of a symbolic link.
    content: Vec<u8>,
    /// The first name of the same file.
    first_name: PathBuf,
}

impl Seen {
    fn of(path: &Path) -> io::Result<(Self, u64)> {
        let attributes = fs::symlink_metadata(path)?;
        let kind = attributes.file_type();
        let content = if kind.is_symlink() {
            fs::read_link(path)?.as_os_str().as_bytes().to_vec()
        } else if kind.is_file() {
            fs::read(path)?
        } else {
            Vec::new()
        };
        let seen = Self {
            mode: attributes.mode(),
            links: attributes.nlink(),
            size: if kind.is_dir() { 0 } else { attributes.len() },
            content,
            first_name: PathBuf::new(),
        };
        Ok((seen, attributes.ino()))
    }

    fn told(&self) -> String {
        let (mode, links, size) = (self.mode, self.links, self.size);
        format!(
            "mode {mode:o}, {links} links, {size} bytes, {}",
            self.first_name.display()
        )
    }
}

/// Everything below a directory, by its path from there.
pub(super) type Tree = BTreeMap<PathBuf, Seen>;

/// Reads the tree below `root`.
pub(super) fn tree(root: &Path) -> io::Result<Tree> {
    let mut tree = Tree::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let path = folder.join(entry?.file_name());
            let (seen, number) = Seen::of(&root.join(&path))?;
            if seen.mode & 0o170_000 == 0o040_000 {
                folders.push(path.clone());
            }
            let number = PathBuf::from(number.to_string());
            tree.insert(
                path,
                Seen {
                    first_name: number,
                    ..seen
                },
            );
        }
    }
    // File numbers differ between trees, but the sets of names with one number do not.
    let mut names = BTreeMap::new();
    for (path, seen) in &mut tree {
        let first = names
            .entry(seen.first_name.clone())
            .or_insert_with(|| path.clone());
        seen.first_name.clone_from(first);
    }
    Ok(tree)
}

/// Returns the differences, if there are any.
pub(super) fn differences(got: &Tree, wanted: &Tree) -> Result<(), String> {
    let mut told = Vec::new();
    for (path, wanted) in wanted {
        let path = path.display();
        match got.get(Path::new(&path.to_string())) {
            None => told.push(format!("{path} is missing")),
            Some(got) if got != wanted => {
                let content = if got.content == wanted.content {
                    ""
                } else {
                    "; other content"
                };
                let (got, wanted) = (got.told(), wanted.told());
                told.push(format!("{path}: {got}; should be {wanted}{content}"));
            }
            Some(_) => {}
        }
    }
    let more = got.keys().filter(|path| !wanted.contains_key(*path));
    told.extend(more.map(|path| format!("{} should not be there", path.display())));
    if told.is_empty() {
        return Ok(());
    }
    let count = told.len();
    told.truncate(SHOWN);
    Err(format!("{count} differences:\n    {}", told.join("\n    ")))
}
