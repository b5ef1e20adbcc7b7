//! Answers, in the format of the kernel.

use std::io::IoSlice;
use std::mem::size_of;

use bytes::Bytes;
use mount::{
    Answer, Attributes, ENTRY_HEAD, Entry, Found, LISTED_HEAD, Listing, Node, Opened, RequestId,
    Space,
};
use polyfuse_kernel as abi;
use units::Duration;
use zerocopy::{Immutable, IntoBytes};

use super::request::device_to_wire;

/// The kernel's unit of disk usage of a file, in bytes.
const BLOCK: u64 = 512;
/// Number of pieces of data beyond which they are joined before they are written: the kernel takes 1,024 (`IOV_MAX`).
const PIECES: usize = 512;
/// Alignment of entries in a listing, in bytes.
const ALIGNMENT: usize = 8;

/// A value with a format of the kernel.
trait ToWire {
    /// The structure of the kernel.
    type Wire;

    /// Returns the structure.
    fn to_wire(&self) -> Self::Wire;
}

/// Returns whole seconds, and the remaining nanoseconds.
fn seconds(span: Duration) -> (u64, u32) {
    let nanoseconds = span.as_nanos();
    (
        nanoseconds / 1_000_000_000,
        (nanoseconds % 1_000_000_000) as u32,
    )
}

// The size that `mount` uses for the head of an entry is that of the kernel.
const _: () = assert!(size_of::<abi::fuse_dirent>() == LISTED_HEAD);
const _: () = assert!(size_of::<abi::fuse_direntplus>() == ENTRY_HEAD);

impl ToWire for Attributes {
    type Wire = abi::fuse_attr;

    fn to_wire(&self) -> abi::fuse_attr {
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
            rdev: device_to_wire(self.device.0, self.device.1),
            blksize: self.best_block,
            padding: 0,
        }
    }
}

impl ToWire for Entry {
    type Wire = abi::fuse_entry_out;

    fn to_wire(&self) -> abi::fuse_entry_out {
        let found = self.found.unwrap_or(Found {
            node: Node(0),
            attributes: Attributes::default(),
        });
        let (names, valid) = (seconds(self.name_valid), seconds(self.attributes_valid));
        abi::fuse_entry_out {
            nodeid: found.node.0,
            // Node numbers are not reused, so their generation has no meaning.
            generation: 0,
            entry_valid: names.0,
            attr_valid: valid.0,
            entry_valid_nsec: names.1,
            attr_valid_nsec: valid.1,
            attr: found.attributes.to_wire(),
        }
    }
}

impl ToWire for Opened {
    type Wire = abi::fuse_open_out;

    fn to_wire(&self) -> abi::fuse_open_out {
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

impl ToWire for Space {
    type Wire = abi::fuse_statfs_out;

    fn to_wire(&self) -> abi::fuse_statfs_out {
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

/// A message to the kernel: a header, and the data after it.
pub(super) struct Message<'a> {
    head: Vec<u8>,
    data: &'a [Bytes],
}

impl<'a> Message<'a> {
    /// Returns the message that answers `request`.
    pub(super) fn answer(request: RequestId, answer: &'a Answer) -> Self {
        let mut message = Self::new();
        let mut error = 0;
        match answer {
            Answer::Done => {}
            Answer::Error(reason) => error = -reason.0,
            Answer::Entry(entry) => message.push(&entry.to_wire()),
            Answer::Attributes(attributes, valid) => message.push(&abi::fuse_attr_out {
                attr_valid: seconds(*valid).0,
                attr_valid_nsec: seconds(*valid).1,
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
            Answer::Listing(listing) => message.list(listing),
        }
        message.finish(request.0, error)
    }

    /// Returns the message that makes the kernel forget the attributes of a file.
    pub(super) fn forget_attributes(node: Node) -> Self {
        let mut message = Self::new();
        message.push(&abi::fuse_notify_inval_inode_out {
            ino: node.0,
            // A negative offset: no content.
            off: -1,
            len: 0,
        });
        message.finish(0, abi::FUSE_NOTIFY_INVAL_INODE.cast_signed())
    }

    /// Returns the message that accepts the kernel's first one.
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

    fn list(&mut self, listing: &Listing) {
        for listed in listing.entries() {
            if listing.with_entries() {
                self.push(&listed.entry.to_wire());
            }
            let kind = listed.entry.found;
            self.push(&abi::fuse_dirent {
                ino: listed.number,
                off: listed.next,
                namelen: listed.name.len() as u32,
                typ: kind.map_or(0, |found| found.attributes.mode.listed()),
                name: [],
            });
            self.head.extend_from_slice(&listed.name);
            self.head
                .resize(self.head.len().next_multiple_of(ALIGNMENT), 0);
        }
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

    /// Returns the message's pieces, which are written in one call.
    pub(super) fn pieces(&self) -> Vec<IoSlice<'_>> {
        let data = self.data.iter().map(|piece| IoSlice::new(piece));
        std::iter::once(IoSlice::new(&self.head))
            .chain(data)
            .collect()
    }
}
