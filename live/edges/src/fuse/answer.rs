//! What the kernel is told.

use std::io::IoSlice;
use std::mem::size_of;
use std::time::Duration;

use bytes::Bytes;
use polyfuse_kernel as abi;
use rustix::io::Errno;
use zerocopy::{Immutable, IntoBytes};

use super::request::device_to_wire;
use super::{Handle, Node, RequestId};

/// The kernel's unit of what a file takes of its disk, in bytes.
const BLOCK: u64 = 512;
/// More pieces of data are joined before they are written: the kernel takes 1,024 (`IOV_MAX`).
const PIECES: usize = 512;
/// Entries of a listing begin at multiples of this.
const ALIGNMENT: usize = 8;

/// A file's kind and who may do what, as `st_mode` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KindAndMode(pub u32);

impl KindAndMode {
    /// The kind as directories list it (`d_type`).
    fn listed(self) -> u32 {
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

/// What a name leads to. It is a reference to the node, until it is [forgotten](super::Operation::Forget).
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

/// A part of a directory, of at most so many bytes as the kernel asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    bytes: Vec<u8>,
    room: usize,
    with_entries: bool,
}

impl Listing {
    /// An empty listing with room for `size` bytes; see [`Operation::List`](super::Operation::List).
    pub fn new(size: u32, with_entries: bool) -> Self {
        Self {
            bytes: Vec::new(),
            room: size as usize,
            with_entries,
        }
    }

    /// Appends a name, behind which the listing goes on at `next`; false, and nothing is appended, if there is
    /// no room. Without a file in it, `entry` is no reference to a node: then only number and kind are told.
    pub fn push(&mut self, name: &[u8], next: u64, number: u64, entry: &Entry) -> bool {
        let head = if self.with_entries {
            size_of::<abi::fuse_direntplus>()
        } else {
            size_of::<abi::fuse_dirent>()
        };
        let length = (head + name.len()).next_multiple_of(ALIGNMENT);
        if self.bytes.len() + length > self.room {
            return false;
        }
        let end = self.bytes.len() + length;
        let kind = entry
            .found
            .map_or(0, |found| found.attributes.mode.listed());
        if self.with_entries {
            self.bytes.extend_from_slice(entry.to_wire().as_bytes());
        }
        let listed = abi::fuse_dirent {
            ino: number,
            off: next,
            namelen: name.len() as u32,
            typ: kind,
            name: [],
        };
        self.bytes.extend_from_slice(listed.as_bytes());
        self.bytes.extend_from_slice(name);
        self.bytes.resize(end, 0);
        true
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl Attributes {
    fn to_wire(self) -> abi::fuse_attr {
        abi::fuse_attr {
            ino: self.number,
            size: self.size,
            blocks: self.used.div_ceil(BLOCK),
            atime: self.accessed.0.cast_unsigned(),
            mtime: self.modified.0.cast_unsigned(),
            ctime: self.changed.0.cast_unsigned(),
            atimensec: self.accessed.1,
            mtimensec: self.modified.1,
            ctimensec: self.changed.1,
            mode: self.mode.0,
            nlink: self.links,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: device_to_wire(self.device),
            blksize: self.best_block,
            padding: 0,
        }
    }
}

impl Entry {
    fn to_wire(self) -> abi::fuse_entry_out {
        let found = self.found.unwrap_or(Found {
            node: Node(0),
            attributes: Attributes::default(),
        });
        abi::fuse_entry_out {
            nodeid: found.node.0,
            // Numbers of nodes are not used again, so their generation says nothing.
            generation: 0,
            entry_valid: self.name_valid.as_secs(),
            attr_valid: self.attributes_valid.as_secs(),
            entry_valid_nsec: self.name_valid.subsec_nanos(),
            attr_valid_nsec: self.attributes_valid.subsec_nanos(),
            attr: found.attributes.to_wire(),
        }
    }
}

impl Opened {
    fn to_wire(self) -> abi::fuse_open_out {
        abi::fuse_open_out {
            fh: self.handle.0,
            open_flags: if self.keep_content {
                abi::FOPEN_KEEP_CACHE
            } else {
                0
            },
            padding: 0,
        }
    }
}

impl Space {
    fn to_wire(self) -> abi::fuse_statfs_out {
        abi::fuse_statfs_out {
            st: abi::fuse_kstatfs {
                blocks: self.blocks.0,
                bfree: self.blocks.1,
                bavail: self.blocks.2,
                files: self.files.0,
                ffree: self.files.1,
                bsize: self.block,
                namelen: self.name_max,
                frsize: self.block,
                padding: 0,
                spare: [0; 6],
            },
        }
    }
}

/// A message to the kernel: a header, and what lies behind it.
pub(super) struct Message<'a> {
    head: Vec<u8>,
    data: &'a [Bytes],
}

impl<'a> Message<'a> {
    /// The message that answers `request`.
    pub(super) fn answer(request: RequestId, answer: &'a Answer) -> Self {
        let mut message = Self::new();
        let mut error = 0;
        match answer {
            Answer::Done => {}
            Answer::Error(reason) => error = -reason.raw_os_error(),
            Answer::Entry(entry) => message.push(&entry.to_wire()),
            Answer::Attributes(attributes, valid) => message.push(&abi::fuse_attr_out {
                attr_valid: valid.as_secs(),
                attr_valid_nsec: valid.subsec_nanos(),
                dummy: 0,
                attr: attributes.to_wire(),
            }),
            Answer::Data(pieces) if pieces.len() <= PIECES => message.data = pieces,
            Answer::Data(pieces) => message.head.extend(pieces.iter().flatten()),
            Answer::Opened(opened) => message.push(&opened.to_wire()),
            Answer::Created(entry, opened) => {
                message.push(&entry.to_wire());
                message.push(&opened.to_wire());
            }
            Answer::Written(size) => message.push(&abi::fuse_write_out {
                size: *size,
                padding: 0,
            }),
            Answer::Space(space) => message.push(&space.to_wire()),
            Answer::Listing(listing) => message.head.extend_from_slice(&listing.bytes),
        }
        message.finish(request.0, error)
    }

    /// The message that makes the kernel forget the attributes of a file.
    pub(super) fn forget_attributes(node: Node) -> Self {
        let mut message = Self::new();
        message.push(&abi::fuse_notify_inval_inode_out {
            ino: node.0,
            // Below 0: no content.
            off: -1,
            len: 0,
        });
        message.finish(0, abi::FUSE_NOTIFY_INVAL_INODE.cast_signed())
    }

    /// The message that accepts the kernel's first one.
    pub(super) fn initialize(request: RequestId, terms: &abi::fuse_init_out) -> Self {
        let mut message = Self::new();
        message.push(terms);
        message.finish(request.0, 0)
    }

    fn new() -> Self {
        Self {
            head: vec![0; size_of::<abi::fuse_out_header>()],
            data: &[],
        }
    }

    fn push(&mut self, value: &(impl IntoBytes + Immutable)) {
        self.head.extend_from_slice(value.as_bytes());
    }

    fn finish(mut self, unique: u64, error: i32) -> Self {
        let data: usize = self.data.iter().map(Bytes::len).sum();
        let header = abi::fuse_out_header {
            len: (self.head.len() + data) as u32,
            error,
            unique,
        };
        self.head[..size_of::<abi::fuse_out_header>()].copy_from_slice(header.as_bytes());
        self
    }

    /// The message's pieces, which go out in one write.
    pub(super) fn pieces(&self) -> Vec<IoSlice<'_>> {
        let data = self.data.iter().map(|piece| IoSlice::new(piece));
        std::iter::once(IoSlice::new(&self.head))
            .chain(data)
            .collect()
    }
}
