//! Access to the file system by paths from its root, for tests.

use std::collections::BTreeMap;

use nfs::{FileType, Name, NewAttributes, Status};

use super::chunks::Chunks;
use super::{Caller, Directory, Kind, Place, ROOT, Storage};

/// All files below the root by their paths, without a leading `/`.
pub type Tree = BTreeMap<Vec<u8>, Item>;

/// A file at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A directory.
    Directory,
    /// A regular file with its content, including unstable data.
    File(Vec<u8>),
    /// A regular file that is longer than the disk, with its length.
    Sparse(u64),
    /// A symbolic link, with its target.
    SymbolicLink(Vec<u8>),
    /// A device, a socket or a pipe.
    Node(FileType),
}

/// Returns the names of a path; empty ones are skipped.
fn names(path: &[u8]) -> impl DoubleEndedIterator<Item = Result<Name<'_>, Status>> {
    let parts = path.split(|byte| *byte == b'/');
    parts
        .filter(|part| !part.is_empty())
        .map(|part| Name::new(part).map_err(|_| Status::InvalidArgument))
}

impl Storage {
    /// Returns the number of the file at `path`; symbolic links are not followed.
    pub(crate) fn find(&self, path: &[u8]) -> Result<u64, Status> {
        names(path).try_fold(ROOT, |directory, name| {
            self.look_up(Place::new(directory, name?))
        })
    }

    /// Creates a directory and its parents; existing ones stay.
    pub(crate) fn make_path(&mut self, path: &[u8]) -> Result<u64, Status> {
        let mut directory = ROOT;
        for name in names(path) {
            let place = Place::new(directory, name?);
            directory = match self.look_up(place) {
                Err(Status::NoEntry) => {
                    let made = Kind::Directory(Directory::new(directory));
                    let new = NewAttributes::default();
                    self.make(place, made, &new, Caller::default())?
                }
                found => found?,
            };
        }
        self.directory(directory).map(|_| directory)
    }

    /// Creates a regular file of stable content, and its parent directories. An existing file gets the content.
    pub(crate) fn put(&mut self, path: &[u8], content: &[u8]) -> Result<u64, Status> {
        let cut = path.iter().rposition(|byte| *byte == b'/');
        let (above, name) = path.split_at(cut.map_or(0, |cut| cut + 1));
        let name = Name::new(name).map_err(|_| Status::InvalidArgument)?;
        let place = Place::new(self.make_path(above)?, name);
        let empty = NewAttributes {
            size: Some(0),
            ..NewAttributes::default()
        };
        let number = self.create(place, &empty, true, Caller::default())?;
        self.write(number, 0, content, true)?;
        Ok(number)
    }

    /// Returns the content of a regular file, as clients see it or as a crash would leave it. It fails if that is
    /// longer than the disk.
    pub(crate) fn get(&self, path: &[u8], stored: bool) -> Result<Vec<u8>, Status> {
        let number = self.find(path)?;
        let content = self.content(number)?;
        let chunks = if stored {
            content.stored()
        } else {
            content.seen()
        };
        self.all(chunks).ok_or(Status::FileTooLarge)
    }

    fn all(&self, chunks: &Chunks) -> Option<Vec<u8>> {
        let fits = chunks.size() <= self.capacity;
        fits.then(|| {
            let mut bytes = Vec::new();
            chunks.read(&(0..chunks.size()), &mut bytes);
            bytes
        })
    }

    /// Returns all files below the root.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let mut todo = vec![(ROOT, Vec::new())];
        while let Some((number, above)) = todo.pop() {
            let Ok(directory) = self.directory(number) else {
                continue;
            };
            for (_, name, number) in directory.behind(0) {
                let path = [&above, name].concat();
                todo.push((number, [&path, &b"/"[..]].concat()));
                tree.insert(path, self.item(number));
            }
        }
        tree
    }

    fn item(&self, number: u64) -> Item {
        match &self.inode(number).kind {
            Kind::Directory(_) => Item::Directory,
            Kind::SymbolicLink(path) => Item::SymbolicLink(path.to_vec()),
            Kind::Node(kind, _) => Item::Node(*kind),
            Kind::File(content) => {
                let seen = content.seen();
                self.all(seen).map_or(Item::Sparse(seen.size()), Item::File)
            }
        }
    }
}
