//! What tests do at the server itself, behind the back of every client.

use nfs::{FileHandle, Status};
use units::Instant;

use super::Server;
use crate::Counters;
use crate::storage::{ROOT, Storage, Tree};

/// Paths have their names between `/`, and begin at the root of the file system. None leads through a symbolic link.
impl Server {
    /// The handle of the root.
    pub fn root(&self) -> FileHandle {
        self.programs.storage.handle(ROOT)
    }

    /// The handle of what `path` leads to, if that is anything.
    pub fn handle(&self, path: &str) -> Option<FileHandle> {
        let storage = &self.programs.storage;
        let number = storage.find(path.as_bytes()).ok()?;
        Some(storage.handle(number))
    }

    /// Makes a regular file with stable content, and the directories on the way to it. A file that is there already
    /// gets the content.
    ///
    /// # Errors
    /// What a client would be told: no space, no directory, and so on.
    pub fn add_file(&mut self, path: &str, content: &[u8]) -> Result<FileHandle, Status> {
        let storage = self.later();
        let number = storage.put(path.as_bytes(), content)?;
        Ok(storage.handle(number))
    }

    /// Makes a directory, and those on the way to it; what is there already stays.
    ///
    /// # Errors
    /// What a client would be told.
    pub fn add_directory(&mut self, path: &str) -> Result<FileHandle, Status> {
        let storage = self.later();
        let number = storage.make_path(path.as_bytes())?;
        Ok(storage.handle(number))
    }

    /// The content of a regular file as clients see it, zeros that take no room included; none if it is longer than
    /// the disk.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.programs.storage.get(path.as_bytes(), false).ok()
    }

    /// The content of a regular file as a crash would leave it.
    pub fn stored(&self, path: &str) -> Option<Vec<u8>> {
        self.programs.storage.get(path.as_bytes(), true).ok()
    }

    /// All files, with their content as clients see it.
    pub fn tree(&self) -> Tree {
        self.programs.storage.tree()
    }

    /// What the server has done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes that are free on the disk.
    pub fn free(&self) -> u64 {
        self.programs.storage.space().1
    }

    /// The file system a little later than it was, so that what changes now shows in the times.
    fn later(&mut self) -> &mut Storage {
        self.programs.storage.set_time(Instant::ZERO);
        &mut self.programs.storage
    }
}
