//! Requests, in the format of the kernel.

use std::mem::size_of;

use bytes::Bytes;
use mount::{Caller, Changes, Handle, NewTime, Node, OpenFlags, Operation, Request, RequestId};
use polyfuse_kernel as abi;
use rustix::fs::OFlags;
use zerocopy::FromBytes;

/// Largest number of nodes that one request forgets; the kernel's own limit is far below.
const FORGET_MAX: u32 = 65_536;

/// A message that is not a usable [`Request`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    /// A message that cannot be answered.
    Unreadable,
    /// A request that is not supported.
    Unsupported(RequestId),
    /// A request in an unknown format.
    Malformed(RequestId),
}

/// Reason why a message cannot be parsed.
enum Fault {
    /// A field is missing or incomplete.
    Missing,
    /// It requests something unknown.
    Unknown,
}

/// The rest of a message, from which fields are taken.
struct Fields(Bytes);

impl Fields {
    fn take<T: FromBytes>(&mut self) -> Result<T, Fault> {
        let (value, _) = T::read_from_prefix(&self.0).map_err(|_| Fault::Missing)?;
        let _ = self.0.split_to(size_of::<T>());
        Ok(value)
    }

    /// Takes a text that a zero byte ends.
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

/// Parses one complete message of the kernel.
pub(super) fn parse(message: Bytes) -> Result<Request, Unusable> {
    let mut fields = Fields(message);
    let length = fields.0.len();
    let header: abi::fuse_in_header = fields.take().map_err(|_| Unusable::Unreadable)?;
    let id = RequestId(header.unique);
    if header.len as usize != length {
        return Err(Unusable::Malformed(id));
    }
    let operation = operation(&header, &mut fields).map_err(|fault| match fault {
        Fault::Missing => Unusable::Malformed(id),
        Fault::Unknown => Unusable::Unsupported(id),
    })?;
    Ok(Request {
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

fn operation(header: &abi::fuse_in_header, fields: &mut Fields) -> Result<Operation, Fault> {
    Ok(match header.opcode {
        abi::FUSE_LOOKUP => Operation::LookUp(fields.text()?),
        abi::FUSE_FORGET => {
            let forget: abi::fuse_forget_in = fields.take()?;
            Operation::Forget(vec![(Node(header.nodeid), forget.nlookup)])
        }
        abi::FUSE_BATCH_FORGET => forget_many(fields)?,
        abi::FUSE_GETATTR => Operation::Attributes,
        abi::FUSE_SETATTR => Operation::SetAttributes(changes(&fields.take()?)),
        abi::FUSE_READLINK => Operation::ReadLink,
        abi::FUSE_SYMLINK | abi::FUSE_MKNOD | abi::FUSE_MKDIR | abi::FUSE_LINK => {
            make(header.opcode, fields)?
        }
        abi::FUSE_UNLINK => Operation::Remove(fields.text()?),
        abi::FUSE_RMDIR => Operation::RemoveDirectory(fields.text()?),
        abi::FUSE_RENAME => {
            let rename: abi::fuse_rename_in = fields.take()?;
            Operation::Rename {
                directory: Node(rename.newdir),
                name: fields.text()?,
                new_name: fields.text()?,
            }
        }
        abi::FUSE_STATFS => Operation::Space,
        abi::FUSE_OPENDIR => Operation::OpenDirectory,
        abi::FUSE_READDIR | abi::FUSE_READDIRPLUS => {
            let read: abi::fuse_read_in = fields.take()?;
            Operation::List {
                handle: Handle(read.fh),
                offset: read.offset,
                size: read.size,
                with_entries: header.opcode == abi::FUSE_READDIRPLUS,
            }
        }
        abi::FUSE_INTERRUPT => {
            let interrupt: abi::fuse_interrupt_in = fields.take()?;
            Operation::Interrupt(RequestId(interrupt.unique))
        }
        opcode => return on_open(opcode, fields),
    })
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

/// Parses operations that create a name.
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

/// Parses operations that open something, or use something open.
fn on_open(opcode: u32, fields: &mut Fields) -> Result<Operation, Fault> {
    Ok(match opcode {
        abi::FUSE_OPEN => {
            let open: abi::fuse_open_in = fields.take()?;
            Operation::Open(open_flags(open.flags))
        }
        abi::FUSE_CREATE => {
            let create: abi::fuse_create_in = fields.take()?;
            Operation::Create {
                name: fields.text()?,
                mode: create.mode,
                flags: open_flags(create.flags),
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

fn changes(wire: &abi::fuse_setattr_in) -> Changes {
    let has = |bit| wire.valid & bit != 0;
    let time = |given, now, seconds, nanoseconds| match (has(now), has(given)) {
        (true, _) => Some(NewTime::Now),
        (false, true) => Some(NewTime::At(seconds, nanoseconds)),
        (false, false) => None,
    };
    Changes {
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

fn open_flags(bits: u32) -> OpenFlags {
    let flags = OFlags::from_bits_retain(bits);
    OpenFlags {
        truncate: flags.contains(OFlags::TRUNC),
        exclusive: flags.contains(OFlags::EXCL),
    }
}

/// Returns major and minor number, as the kernel packs them (`new_decode_dev`).
fn device_from_wire(packed: u32) -> (u32, u32) {
    let minor = (packed & 0xff) | ((packed >> 12) & 0xf_ff00);
    ((packed >> 8) & 0xfff, minor)
}

/// Returns the inverse of [`device_from_wire`]; numbers that do not fit are cut.
pub(super) fn device_to_wire(major: u32, minor: u32) -> u32 {
    (minor & 0xff) | ((major & 0xfff) << 8) | ((minor & 0xf_ff00) << 12)
}
