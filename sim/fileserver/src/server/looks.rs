//! Direct access of tests to the server, which clients do not notice.

use nfs::{FileHandle, Status};
use units::Instant;

use super::Server;
use crate::Counters;
use crate::storage::{ROOT, Storage, Tree};

/// In paths, `/` separates names, and they begin at the root of the file system. Symbolic links are not followed.
impl Server {
    /// Returns the handle of the root.
    pub fn root(&self) -> FileHandle {
        self.programs.storage.handle(ROOT)
    }

    /// Returns the handle of `path`, if it exists.
    pub fn handle(&self, path: &str) -> Option<FileHandle> {
        let storage = &self.programs.storage;
        let number = storage.find(path.as_bytes()).ok()?;
        Some(storage.handle(number))
    }

    /// Creates a regular file with stable content, and its parent directories. An existing file gets the content.
    ///
    /// # Errors
    /// As for a client: no space, not a directory, and so on.
    pub fn add_file(&mut self, path: &str, content: &[u8]) -> Result<FileHandle, Status> {
        let storage = self.later();
        let number = storage.put(path.as_bytes(), content)?;
        Ok(storage.handle(number))
    }

    /// Creates a directory and its parents; existing ones stay.
    ///
    /// # Errors
    /// As for a client.
    pub fn add_directory(&mut self, path: &str) -> Result<FileHandle, Status> {
        let storage = self.later();
        let number = storage.make_path(path.as_bytes())?;
        Ok(storage.handle(number))
    }

    /// Returns the content of a regular file as clients see it, with zeros for holes; `None` if it is longer than the
    /// disk.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.programs.storage.get(path.as_bytes(), false).ok()
    }

    /// Returns the content of a regular file as a crash would leave it.
    pub fn stored(&self, path: &str) -> Option<Vec<u8>> {
        self.programs.storage.get(path.as_bytes(), true).ok()
    }

    /// Returns all files, with their content as clients see it.
    pub fn tree(&self) -> Tree {
        self.programs.storage.tree()
    }

    /// Returns the counters so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the free space of the disk, in bytes.
    pub fn free(&self) -> u64 {
        self.programs.storage.space().1
    }

    /// Returns the file system with its clock advanced a little, so that a change shows in the times.
    fn later(&mut self) -> &mut Storage {
        self.programs.storage.set_time(Instant::ZERO);
        &mut self.programs.storage
    }
}
