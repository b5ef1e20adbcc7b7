//! Reading and writing of files in the file system.

use std::ops::Range;

use nfs::Status;

use super::chunks::CHUNK;
use super::content::Content;
use super::{FILE_MAX, Kind, Storage};

impl Storage {
    /// Appends the bytes of `range` that the file has; returns true if the range reaches the end of the file.
    pub(crate) fn read(
        &mut self,
        number: u64,
        range: &Range<u64>,
        bytes: &mut Vec<u8>,
    ) -> Result<bool, Status> {
        let now = self.now;
        let seen = self.content(number)?.seen();
        let end = range.end.min(seen.size());
        if range.start < end {
            seen.read(&(range.start..end), bytes);
        }
        let at_end = range.end >= seen.size();
        self.inode_mut(number).times.accessed = now;
        Ok(at_end)
    }

    /// Writes all of `data`, or fails without a change.
    pub(crate) fn write(
        &mut self,
        number: u64,
        offset: u64,
        data: &[u8],
        stable: bool,
    ) -> Result<(), Status> {
        let end = offset.checked_add(data.len() as u64);
        let end = end.filter(|end| *end <= FILE_MAX);
        let range = offset..end.ok_or(Status::FileTooLarge)?;
        let missing = self.content(number)?.seen().missing(&range);
        self.take(missing * CHUNK)?;
        if !data.is_empty() {
            self.content_mut(number)?.write(offset, data, stable);
            let now = self.now;
            self.inode_mut(number).touch(now);
        }
        Ok(())
    }

    /// Makes the data of `range` stable.
    pub(crate) fn commit(&mut self, number: u64, range: &Range<u64>) -> Result<(), Status> {
        self.content_mut(number)?.commit(range);
        Ok(())
    }

    /// Sets the length of a file.
    pub(super) fn resize(&mut self, number: u64, size: u64) -> Result<(), Status> {
        let content = self.content_mut(number)?;
        if size > FILE_MAX {
            return Err(Status::FileTooLarge);
        }
        let before = content.seen().count();
        content.resize(size);
        let freed = before - content.seen().count();
        self.used -= freed * CHUNK;
        let now = self.now;
        self.inode_mut(number).touch(now);
        Ok(())
    }

    /// Returns the content of a regular file.
    pub(super) fn content(&self, number: u64) -> Result<&Content, Status> {
        match &self.inode(number).kind {
            Kind::File(content) => Ok(content),
            other => Err(no_file(other)),
        }
    }

    fn content_mut(&mut self, number: u64) -> Result<&mut Content, Status> {
        match &mut self.inode_mut(number).kind {
            Kind::File(content) => Ok(content),
            other => Err(no_file(other)),
        }
    }
}

/// Returns the status for a file without content.
fn no_file(kind: &Kind) -> Status {
    match kind {
        Kind::Directory(_) => Status::IsDirectory,
        _ => Status::InvalidArgument,
    }
}
