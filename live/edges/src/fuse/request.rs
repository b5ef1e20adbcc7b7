//! What the kernel asks for.

use std::mem::size_of;

use bytes::Bytes;
use polyfuse_kernel as abi;
use rustix::fs::OFlags;
use zerocopy::FromBytes;

/// The most nodes that one request forgets; the kernel's own limit is far below.
const FORGET_MAX: u32 = 65_536;

/// Names a request until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Names a file as long as the kernel refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u64);

impl Node {
    /// The directory that is mounted. The kernel refers to it without having looked it up.
    pub const ROOT: Self = Self(1);
}

/// Names something open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// The process that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// Its user.
    pub user: u32,
    /// Its group.
    pub group: u32,
    /// The number of its thread; 0 if it lives in another namespace, or is the kernel itself.
    pub process: u32,
}

/// How a file is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenFlags {
    /// It loses its content first (`O_TRUNC`).
    pub truncate: bool,
    /// It must not be there yet (`O_EXCL`).
    pub exclusive: bool,
}

impl OpenFlags {
    fn from_bits(bits: u32) -> Self {
        let flags = OFlags::from_bits_retain(bits);
        Self {
            truncate: flags.contains(OFlags::TRUNC),
            exclusive: flags.contains(OFlags::EXCL),
        }
    }
}

/// A time that a file shall have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTime {
    /// The time of whoever keeps the file.
    Now,
    /// Seconds since 1970 and nanoseconds.
    At(i64, u32),
}

/// Attributes that a file shall have; what is absent stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// Who may do what: twelve bits.
    pub mode: Option<u32>,
    /// The owner.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
    /// The length in bytes.
    pub size: Option<u64>,
    /// When it was read last.
    pub accessed: Option<NewTime>,
    /// When its content changed last.
    pub modified: Option<NewTime>,
}

/// One thing that the kernel wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// How to [answer](super::Kernel::answer) it.
    pub id: RequestId,
    /// Who waits for the answer.
    pub caller: Caller,
    /// The file, or the directory of the name.
    pub node: Node,
    /// What is wanted of it.
    pub operation: Operation,
}

/// What can be wanted. Names are those that a process gave: they hold neither `/` nor a zero byte.
/// What cannot be wanted here is refused for good (`ENOSYS`), and the kernel then does without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Finds a name: an entry, which counts as a reference to its node.
    LookUp(Bytes),
    /// So many references to each of these nodes are gone. Has no answer.
    Forget(Vec<(Node, u64)>),
    /// Attributes.
    Attributes,
    /// New attributes: attributes.
    SetAttributes(Changes),
    /// Where a symbolic link leads: data.
    ReadLink,
    /// Makes a symbolic link: an entry.
    MakeSymbolicLink {
        /// Its name.
        name: Bytes,
        /// Where it leads.
        target: Bytes,
    },
    /// Makes a regular file, a device, a socket or a pipe: an entry.
    MakeNode {
        /// Its name.
        name: Bytes,
        /// Its kind and who may do what (`st_mode`).
        mode: u32,
        /// A device's major and minor number.
        device: (u32, u32),
    },
    /// Makes a directory: an entry.
    MakeDirectory {
        /// Its name.
        name: Bytes,
        /// Who may do what.
        mode: u32,
    },
    /// Removes a name of a file.
    Remove(Bytes),
    /// Removes an empty directory.
    RemoveDirectory(Bytes),
    /// Moves a name, in place of what has the new one.
    Rename {
        /// The name.
        name: Bytes,
        /// Its new directory.
        directory: Node,
        /// Its new name.
        new_name: Bytes,
    },
    /// One more name for a file, in the request's directory: an entry.
    Link {
        /// The file.
        file: Node,
        /// The name.
        name: Bytes,
    },
    /// Opens a file.
    Open(OpenFlags),
    /// Makes a file and opens it: an entry, and it is open.
    Create {
        /// Its name.
        name: Bytes,
        /// Who may do what.
        mode: u32,
        /// How.
        flags: OpenFlags,
    },
    /// Reads: data, fewer only at the end of the file.
    Read {
        /// The open file.
        handle: Handle,
        /// From where, in bytes.
        offset: u64,
        /// How many bytes.
        count: u32,
    },
    /// Writes.
    Write {
        /// The open file.
        handle: Handle,
        /// To where, in bytes.
        offset: u64,
        /// What.
        data: Bytes,
        /// It was opened to write at its end (`O_APPEND`), which `offset` is as far as the kernel knows.
        append: bool,
    },
    /// How full the file system is: space.
    Space,
    /// A descriptor is closed; may be told to fail.
    Flush(Handle),
    /// What was written shall be safe.
    Synchronize(Handle),
    /// The last reference to something open is gone.
    Close(Handle),
    /// Opens a directory.
    OpenDirectory,
    /// Lists a directory: a listing.
    List {
        /// The open directory.
        handle: Handle,
        /// The place behind the last entry that is known; 0 at the start.
        offset: u64,
        /// How many bytes the listing may have.
        size: u32,
        /// Whether entries tell what they lead to, each of which is a reference to its node.
        with_entries: bool,
    },
    /// The changes of a directory shall be safe.
    SynchronizeDirectory(Handle),
    /// The last reference to an open directory is gone.
    CloseDirectory(Handle),
    /// The process that waits for this request has got a signal. [`Answer::Error`](super::Answer::Error)
    /// with `AGAIN` makes the kernel say it again; there is no other answer.
    Interrupt(RequestId),
}

/// What came instead of a [`Request`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    /// Nothing that can be answered.
    Unreadable,
    /// This is not done here.
    Unsupported(RequestId),
    /// The kernel asks for something in an unknown way.
    Malformed(RequestId),
}

/// Why a message cannot be understood.
enum Fault {
    /// A field is missing, or its end.
    Missing,
    /// It asks for something unknown.
    Unknown,
}

/// The fields of a message, one behind the other.
struct Fields(Bytes);

impl Fields {
    fn take<T: FromBytes>(&mut self) -> Result<T, Fault> {
        let (value, _) = T::read_from_prefix(&self.0).map_err(|_| Fault::Missing)?;
        let _ = self.0.split_to(size_of::<T>());
        Ok(value)
    }

    /// A text with a zero byte behind it.
    fn text(&mut self) -> Result<Bytes, Fault> {
        let zero = self.0.iter().position(|&byte| byte == 0);
        let text = self.0.split_to(zero.ok_or(Fault::Missing)?);
        let _ = self.0.split_to(1);
        Ok(text)
    }

    fn data(&mut self, length: u32) -> Result<Bytes, Fault> {
        let length = length as usize;
        (length <= self.0.len())
            .then(|| self.0.split_to(length))
            .ok_or(Fault::Missing)
    }
}

impl Request {
    /// Reads one whole message of the kernel.
    pub(super) fn parse(message: Bytes) -> Result<Self, Unusable> {
        let mut fields = Fields(message);
        let length = fields.0.len();
        let header: abi::fuse_in_header = fields.take().map_err(|_| Unusable::Unreadable)?;
        let id = RequestId(header.unique);
        if header.len as usize != length {
            return Err(Unusable::Malformed(id));
        }
        let operation = Operation::parse(&header, &mut fields).map_err(|fault| match fault {
            Fault::Missing => Unusable::Malformed(id),
            Fault::Unknown => Unusable::Unsupported(id),
        })?;
        Ok(Self {
            id,
            caller: Caller {
                user: header.uid,
                group: header.gid,
                process: header.pid,
            },
            node: Node(header.nodeid),
            operation,
        })
    }
}

impl Operation {
    fn parse(header: &abi::fuse_in_header, fields: &mut Fields) -> Result<Self, Fault> {
        Ok(match header.opcode {
            abi::FUSE_LOOKUP => Self::LookUp(fields.text()?),
            abi::FUSE_FORGET => {
                let forget: abi::fuse_forget_in = fields.take()?;
                Self::Forget(vec![(Node(header.nodeid), forget.nlookup)])
            }
            abi::FUSE_BATCH_FORGET => forget_many(fields)?,
            abi::FUSE_GETATTR => Self::Attributes,
            abi::FUSE_SETATTR => Self::SetAttributes(Changes::from_wire(&fields.take()?)),
            abi::FUSE_READLINK => Self::ReadLink,
            abi::FUSE_SYMLINK | abi::FUSE_MKNOD | abi::FUSE_MKDIR | abi::FUSE_LINK => {
                make(header.opcode, fields)?
            }
            abi::FUSE_UNLINK => Self::Remove(fields.text()?),
            abi::FUSE_RMDIR => Self::RemoveDirectory(fields.text()?),
            abi::FUSE_RENAME => {
                let rename: abi::fuse_rename_in = fields.take()?;
                Self::Rename {
                    directory: Node(rename.newdir),
                    name: fields.text()?,
                    new_name: fields.text()?,
                }
            }
            abi::FUSE_STATFS => Self::Space,
            abi::FUSE_OPENDIR => Self::OpenDirectory,
            abi::FUSE_READDIR | abi::FUSE_READDIRPLUS => {
                let read: abi::fuse_read_in = fields.take()?;
                Self::List {
                    handle: Handle(read.fh),
                    offset: read.offset,
                    size: read.size,
                    with_entries: header.opcode == abi::FUSE_READDIRPLUS,
                }
            }
            abi::FUSE_INTERRUPT => {
                let interrupt: abi::fuse_interrupt_in = fields.take()?;
                Self::Interrupt(RequestId(interrupt.unique))
            }
            opcode => return on_open(opcode, fields),
        })
    }
}

fn forget_many(fields: &mut Fields) -> Result<Operation, Fault> {
    let batch: abi::fuse_batch_forget_in = fields.take()?;
    let one = |_| {
        let one: abi::fuse_forget_one = fields.take()?;
        Ok((Node(one.nodeid), one.nlookup))
    };
    let all: Result<_, _> = (0..batch.count.min(FORGET_MAX)).map(one).collect();
    Ok(Operation::Forget(all?))
}

/// What makes a name.
fn make(opcode: u32, fields: &mut Fields) -> Result<Operation, Fault> {
    Ok(match opcode {
        abi::FUSE_SYMLINK => Operation::MakeSymbolicLink {
            name: fields.text()?,
            target: fields.text()?,
        },
        abi::FUSE_MKNOD => {
            let node: abi::fuse_mknod_in = fields.take()?;
            Operation::MakeNode {
                name: fields.text()?,
                mode: node.mode,
                device: device_from_wire(node.rdev),
            }
        }
        abi::FUSE_MKDIR => {
            let directory: abi::fuse_mkdir_in = fields.take()?;
            Operation::MakeDirectory {
                name: fields.text()?,
                mode: directory.mode,
            }
        }
        _ => {
            let link: abi::fuse_link_in = fields.take()?;
            Operation::Link {
                file: Node(link.oldnodeid),
                name: fields.text()?,
            }
        }
    })
}

/// What opens something, or is done with something open.
fn on_open(opcode: u32, fields: &mut Fields) -> Result<Operation, Fault> {
    Ok(match opcode {
        abi::FUSE_OPEN => {
            let open: abi::fuse_open_in = fields.take()?;
            Operation::Open(OpenFlags::from_bits(open.flags))
        }
        abi::FUSE_CREATE => {
            let create: abi::fuse_create_in = fields.take()?;
            Operation::Create {
                name: fields.text()?,
                mode: create.mode,
                flags: OpenFlags::from_bits(create.flags),
            }
        }
        abi::FUSE_READ => {
            let read: abi::fuse_read_in = fields.take()?;
            Operation::Read {
                handle: Handle(read.fh),
                offset: read.offset,
                count: read.size,
            }
        }
        abi::FUSE_WRITE => {
            let write: abi::fuse_write_in = fields.take()?;
            Operation::Write {
                handle: Handle(write.fh),
                offset: write.offset,
                data: fields.data(write.size)?,
                append: OFlags::from_bits_retain(write.flags).contains(OFlags::APPEND),
            }
        }
        abi::FUSE_FLUSH => {
            let flush: abi::fuse_flush_in = fields.take()?;
            Operation::Flush(Handle(flush.fh))
        }
        abi::FUSE_RELEASE | abi::FUSE_RELEASEDIR => {
            let release: abi::fuse_release_in = fields.take()?;
            let handle = Handle(release.fh);
            match opcode {
                abi::FUSE_RELEASE => Operation::Close(handle),
                _ => Operation::CloseDirectory(handle),
            }
        }
        abi::FUSE_FSYNC | abi::FUSE_FSYNCDIR => {
            let sync: abi::fuse_fsync_in = fields.take()?;
            let handle = Handle(sync.fh);
            match opcode {
                abi::FUSE_FSYNC => Operation::Synchronize(handle),
                _ => Operation::SynchronizeDirectory(handle),
            }
        }
        _ => return Err(Fault::Unknown),
    })
}

impl Changes {
    fn from_wire(wire: &abi::fuse_setattr_in) -> Self {
        let has = |bit| wire.valid & bit != 0;
        let time = |given, now, seconds, nanoseconds| match (has(now), has(given)) {
            (true, _) => Some(NewTime::Now),
            (false, true) => Some(NewTime::At(seconds, nanoseconds)),
            (false, false) => None,
        };
        Self {
            mode: has(abi::FATTR_MODE).then_some(wire.mode & 0o7777),
            user: has(abi::FATTR_UID).then_some(wire.uid),
            group: has(abi::FATTR_GID).then_some(wire.gid),
            size: has(abi::FATTR_SIZE).then_some(wire.size),
            accessed: time(
                abi::FATTR_ATIME,
                abi::FATTR_ATIME_NOW,
                wire.atime.cast_signed(),
                wire.atimensec,
            ),
            modified: time(
                abi::FATTR_MTIME,
                abi::FATTR_MTIME_NOW,
                wire.mtime.cast_signed(),
                wire.mtimensec,
            ),
        }
    }
}

/// Major and minor number, as the kernel packs them (`new_decode_dev`).
fn device_from_wire(packed: u32) -> (u32, u32) {
    let minor = (packed & 0xff) | ((packed >> 12) & 0xf_ff00);
    ((packed >> 8) & 0xfff, minor)
}

/// The reverse of [`device_from_wire`]; numbers that do not fit are cut.
pub(super) fn device_to_wire((major, minor): (u32, u32)) -> u32 {
    (minor & 0xff) | ((major & 0xfff) << 8) | ((minor & 0xf_ff00) << 12)
}
