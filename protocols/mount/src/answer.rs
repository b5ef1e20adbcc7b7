//! Answers to the kernel.

use bytes::Bytes;
use units::Duration;

use crate::{Errno, Handle, Node};

/// A file's kind and who may do what, as `st_mode` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KindAndMode(pub u32);

impl KindAndMode {
    /// The kind as directories list it (`d_type`).
    pub fn listed(self) -> u32 {
        (self.0 & 0o170_000) >> 12
    }
}

/// Seconds since 1970, and nanoseconds below one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamp(pub i64, pub u32);

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Its number (`st_ino`).
    pub number: u64,
    /// Its kind and who may do what.
    pub mode: KindAndMode,
    /// How many names it has.
    pub links: u32,
    /// User and group that it belongs to.
    pub owner: (u32, u32),
    /// Its length in bytes.
    pub size: u64,
    /// What it takes of the disk, in bytes.
    pub used: u64,
    /// A device's major and minor number.
    pub device: (u32, u32),
    /// When it was read last.
    pub accessed: Timestamp,
    /// When its content changed last.
    pub modified: Timestamp,
    /// When its content or attributes changed last.
    pub changed: Timestamp,
    /// How many bytes are read or written best at once.
    pub best_block: u32,
}

/// A file and what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub node: Node,
    /// What is known of it.
    pub attributes: Attributes,
}

/// What a name leads to. It is a reference to the node, until it is [forgotten](crate::Operation::Forget).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The file; none if nothing has the name, which the kernel remembers as long as an entry.
    pub found: Option<Found>,
    /// How long the kernel takes the name for true.
    pub name_valid: Duration,
    /// How long the kernel takes the attributes for true.
    pub attributes_valid: Duration,
}

/// Something is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// How to name it.
    pub handle: Handle,
    /// Whether what the kernel remembers of its content is still true.
    pub keep_content: bool,
}

/// How full a file system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// The size of a block in bytes.
    pub block: u32,
    /// Blocks: all, free, and free for the caller.
    pub blocks: (u64, u64, u64),
    /// Files: how many there can be, and how many more.
    pub files: (u64, u64),
    /// The longest name in bytes.
    pub name_max: u32,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// It is not, for this reason.
    Error(Errno),
    /// What a name leads to.
    Entry(Entry),
    /// What is known of a file, and how long the kernel takes it for true.
    Attributes(Attributes, Duration),
    /// Data, one piece behind the other.
    Data(Vec<Bytes>),
    /// It is open.
    Opened(Opened),
    /// It was made and is open.
    Created(Entry, Opened),
    /// So many bytes were written.
    Written(u32),
    /// How full the file system is.
    Space(Space),
    /// A part of a directory.
    Listing(Listing),
}

/// The bytes of an entry of a listing before its name (`fuse_dirent`).
pub const LISTED_HEAD: usize = 24;
/// The same where entries say what they lead to (`fuse_direntplus`).
pub const ENTRY_HEAD: usize = 152;
/// Entries of a listing begin at multiples of this, in bytes.
const ALIGNMENT: usize = 8;

/// A name in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name.
    pub name: Bytes,
    /// The place behind it, where the listing goes on.
    pub next: u64,
    /// The file's number.
    pub number: u64,
    /// The file. Without one, or with node 0, it is no reference to a node.
    pub entry: Entry,
}

/// A part of a directory, of at most so many bytes as the kernel asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    entries: Vec<Listed>,
    room: usize,
    with_entries: bool,
}

impl Listing {
    /// An empty listing with room for `size` bytes; see [`Operation::List`](crate::Operation::List).
    pub fn new(size: u32, with_entries: bool) -> Self {
        Self {
            entries: Vec::new(),
            room: size as usize,
            with_entries,
        }
    }

    /// Appends a name; false, and nothing is appended, if there is no room.
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

    /// The names.
    pub fn entries(&self) -> &[Listed] {
        &self.entries
    }

    /// Entries say what they lead to, and are references to it.
    pub fn with_entries(&self) -> bool {
        self.with_entries
    }

    /// Returns true if nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
