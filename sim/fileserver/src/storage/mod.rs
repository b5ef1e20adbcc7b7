//! The file system: files, names, and their shared disk, with the rules of UNIX.

mod chunks;
mod content;
mod data;
mod directory;
mod inode;
mod names;
mod paths;

use machine::{FNV_BASIS, fnv1a};
use std::collections::{BTreeMap, BTreeSet};

use nfs::{Attributes, AttributesBefore, FileHandle, NewAttributes, Status, Time};
use units::{Duration, Instant};

pub(crate) use content::Content;
pub(crate) use directory::{Directory, ITSELF, PARENT};
pub(crate) use inode::{Caller, Inode, Kind};
pub(crate) use names::Place;
pub use paths::{Item, Tree};

/// Number of the root.
pub(crate) const ROOT: u64 = 1;
/// Size of the largest file, in bytes.
pub(crate) const FILE_MAX: u64 = i64::MAX as u64;
/// Largest number of names of a file.
pub(crate) const LINKS_MAX: u32 = 32_000;
/// Disk space of a file and of a name, in bytes.
pub(crate) const INODE_COST: u64 = chunks::CHUNK;
const NAME_COST: u64 = 512;
/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// Returns the 64-bit FNV-1a hash.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    fnv1a(FNV_BASIS, bytes)
}

/// A file system. Changes of names, attributes and directories are stable at once; content may be unstable.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    inodes: BTreeMap<u64, Inode>,
    /// Numbers below `next` that are free.
    free: BTreeSet<u64>,
    next: u64,
    /// Number of files created or made stale so far, so that no two handles are equal.
    generations: u64,
    capacity: u64,
    used: u64,
    file_system: u64,
    epoch: u32,
    now: Time,
}

impl Storage {
    /// Returns an empty file system on a disk of `capacity` bytes, with its own id and clock.
    pub(crate) fn new(capacity: u64, file_system: u64, epoch: u32) -> Self {
        let now = Time {
            seconds: epoch,
            nanoseconds: 0,
        };
        let mut storage = Self {
            inodes: BTreeMap::new(),
            free: BTreeSet::new(),
            next: ROOT,
            generations: 0,
            capacity,
            used: 0,
            file_system,
            epoch,
            now,
        };
        let kind = Kind::Directory(Directory::new(ROOT));
        let root = storage.add(kind, Caller::default());
        let root = root.expect("a disk has room for the root");
        storage.inode_mut(root).links = 2;
        storage
    }

    /// Sets the clock to `now`, but always later than before, so that every change shows in the times.
    pub(crate) fn set_time(&mut self, now: Instant) {
        let shown = now.since_origin() + Duration::from_secs(self.epoch.into());
        let last = u64::from(self.now.seconds) * SECOND + u64::from(self.now.nanoseconds);
        let nanoseconds = shown.as_nanos().max(last + 1);
        self.now = Time {
            seconds: (nanoseconds / SECOND) as u32,
            nanoseconds: (nanoseconds % SECOND) as u32,
        };
    }

    /// Returns the handle of file `number`.
    pub(crate) fn handle(&self, number: u64) -> FileHandle {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.file_system.to_be_bytes());
        bytes[8..16].copy_from_slice(&number.to_be_bytes());
        bytes[16..].copy_from_slice(&self.inode(number).generation.to_be_bytes());
        FileHandle::new(&bytes).expect("24 bytes are not too many")
    }

    /// Returns the number of the file with `handle`.
    pub(crate) fn resolve(&self, handle: &FileHandle) -> Result<u64, Status> {
        let bytes = <&[u8; 24]>::try_from(handle.bytes()).map_err(|_| Status::BadHandle)?;
        let word = |at| u64::from_be_bytes(std::array::from_fn(|place| bytes[at + place]));
        let (file_system, number, generation) = (word(0), word(8), word(16));
        let inode = self.inodes.get(&number);
        let alive = inode.is_some_and(|inode| inode.generation == generation);
        let found = alive && file_system == self.file_system;
        found.then_some(number).ok_or(Status::Stale)
    }

    /// Gives the file a new handle.
    pub(crate) fn make_stale(&mut self, number: u64) {
        self.generations += 1;
        self.inode_mut(number).generation = self.generations;
    }

    pub(crate) fn inode(&self, number: u64) -> &Inode {
        self.inodes.get(&number).expect("names lead to files")
    }

    fn inode_mut(&mut self, number: u64) -> &mut Inode {
        self.inodes.get_mut(&number).expect("names lead to files")
    }

    pub(crate) fn attributes(&self, number: u64) -> Attributes {
        self.inode(number).attributes(self.file_system, number)
    }

    /// Returns the attributes before a change, for weak cache consistency data.
    pub(crate) fn before(&self, number: u64) -> AttributesBefore {
        let Attributes { size, times, .. } = self.attributes(number);
        AttributesBefore {
            size,
            modified: times.modified,
            changed: times.changed,
        }
    }

    /// Sets attributes; the size of regular files only.
    pub(crate) fn set_attributes(
        &mut self,
        number: u64,
        new: &NewAttributes,
    ) -> Result<(), Status> {
        if let Some(size) = new.size {
            self.resize(number, size)?;
        }
        let now = self.now;
        let inode = self.inode_mut(number);
        inode.set(new, now);
        inode.verifier = None;
        Ok(())
    }

    /// Returns the disk's size and its free space, in bytes.
    pub(crate) fn space(&self) -> (u64, u64) {
        (self.capacity, self.capacity.saturating_sub(self.used))
    }

    /// Loses all unstable data; returns the number of bytes. A file that lost data gets the current time of change.
    pub(crate) fn crash(&mut self) -> u64 {
        let now = self.now;
        let mut lost = 0;
        for inode in self.inodes.values_mut() {
            let before = inode.used();
            let Kind::File(content) = &mut inode.kind else {
                continue;
            };
            let of_file = content.crash();
            if of_file > 0 {
                inode.touch(now);
            }
            lost += of_file;
            self.used -= before - inode.used();
        }
        lost
    }

    /// Creates a file without names.
    fn add(&mut self, kind: Kind, caller: Caller) -> Result<u64, Status> {
        self.take(INODE_COST)?;
        let number = self.free.pop_first().unwrap_or(self.next);
        self.next = self.next.max(number + 1);
        self.generations += 1;
        let inode = Inode::new(kind, self.generations, caller, self.now);
        self.inodes.insert(number, inode);
        Ok(number)
    }

    /// Removes a file without names.
    fn delete(&mut self, number: u64) {
        if let Some(inode) = self.inodes.remove(&number) {
            self.used -= INODE_COST + inode.used();
            self.free.insert(number);
        }
    }

    /// Allocates disk space.
    fn take(&mut self, bytes: u64) -> Result<(), Status> {
        let (_, free) = self.space();
        if bytes > free {
            return Err(Status::NoSpace);
        }
        self.used += bytes;
        Ok(())
    }
}
