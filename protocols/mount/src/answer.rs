//! The answers to the kernel.

use bytes::Bytes;
use units::Duration;

use crate::{Errno, Handle, Node};

/// File type and permissions, as in `st_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KindAndMode(pub u32);

impl KindAndMode {
    /// Returns the type as directories list it (`d_type`).
    pub fn listed(self) -> u32 {
        (self.0 & 0o170_000) >> 12
    }
}

/// Seconds since 1970, and nanoseconds below one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamp(pub i64, pub u32);

/// Attributes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Inode number (`st_ino`).
    pub number: u64,
    /// Type and permissions.
    pub mode: KindAndMode,
    /// Number of hard links.
    pub links: u32,
    /// User ID and group ID of the owner.
    pub owner: (u32, u32),
    /// Its length in bytes.
    pub size: u64,
    /// Disk space used, in bytes.
    pub used: u64,
    /// Major and minor number of a device.
    pub device: (u32, u32),
    /// Time of the last read.
    pub accessed: Timestamp,
    /// Time of the last change of the content.
    pub modified: Timestamp,
    /// Time of the last change of the content or the attributes.
    pub changed: Timestamp,
    /// Preferred size of reads and writes, in bytes.
    pub best_block: u32,
}

/// A file and its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub node: Node,
    /// Attributes of the file.
    pub attributes: Attributes,
}

/// Result of a look-up. It is a reference to the node, until it is [forgotten](crate::Operation::Forget).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// File of the name; none if it does not exist, which the kernel caches like an entry.
    pub found: Option<Found>,
    /// Time that the kernel may cache the name.
    pub name_valid: Duration,
    /// Time that the kernel may cache the attributes.
    pub attributes_valid: Duration,
}

/// An open file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// Handle of the open file.
    pub handle: Handle,
    /// True if the kernel's cached content is still valid.
    pub keep_content: bool,
}

/// Space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Size of a block in bytes.
    pub block: u32,
    /// Numbers of blocks: all, free, and free for the caller.
    pub blocks: (u64, u64, u64),
    /// Numbers of files: the maximum, and those that can still be created.
    pub files: (u64, u64),
    /// Maximum length of a name in bytes.
    pub name_max: u32,
}

/// Answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The request succeeded.
    Done,
    /// The request failed.
    Error(Errno),
    /// Entry of a name.
    Entry(Entry),
    /// Attributes of a file, and the time that the kernel may cache them.
    Attributes(Attributes, Duration),
    /// Data, in successive pieces.
    Data(Vec<Bytes>),
    /// The file is open.
    Opened(Opened),
    /// The file was created and is open.
    Created(Entry, Opened),
    /// Number of bytes written.
    Written(u32),
    /// Space of the file system.
    Space(Space),
    /// A part of a directory.
    Listing(Listing),
}

/// Length of a listed entry before its name (`fuse_dirent`), in bytes.
pub const LISTED_HEAD: usize = 24;
/// Length of a listed entry with attributes before its name (`fuse_direntplus`), in bytes.
pub const ENTRY_HEAD: usize = 152;
/// Alignment of the entries of a listing, in bytes.
const ALIGNMENT: usize = 8;

/// An entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name.
    pub name: Bytes,
    /// Offset behind it, at which the listing continues.
    pub next: u64,
    /// Inode number of the file.
    pub number: u64,
    /// The file. An entry without a file, or with node 0, is no reference to a node.
    pub entry: Entry,
}

/// A part of a directory, limited to the size that the kernel requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    entries: Vec<Listed>,
    room: usize,
    with_entries: bool,
}

impl Listing {
    /// Returns an empty listing with room for `size` bytes; see [`Operation::List`](crate::Operation::List).
    pub fn new(size: u32, with_entries: bool) -> Self {
        Self {
            entries: Vec::new(),
            room: size as usize,
            with_entries,
        }
    }

    /// Appends an entry. Returns false, and appends nothing, if there is no room.
    pub fn push(&mut self, listed: Listed) -> bool {
        let head = if self.with_entries {
            ENTRY_HEAD
        } else {
            LISTED_HEAD
        };
        let length = (head + listed.name.len()).next_multiple_of(ALIGNMENT);
        let Some(room) = self.room.checked_sub(length) else {
            return false;
        };
        self.room = room;
        self.entries.push(listed);
        true
    }

    /// Returns the entries.
    pub fn entries(&self) -> &[Listed] {
        &self.entries
    }

    /// Returns true if entries have attributes, and are references to their nodes.
    pub fn with_entries(&self) -> bool {
        self.with_entries
    }

    /// Returns true if nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
