//! Names: found, made, moved and removed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use edges::fuse::{Answer, Node, Operation};
use files::{Entry, Found, Operation as Wanted, Reply};
use nfs::{Device, FileType, NewAttributes};
use rustix::io::Errno;

use super::attributes::{kind_of, new_file, with_mode};
use super::calls::Call;
use super::errno::{errno_of, errno_of_name};
use super::file_system::FileSystem;
use super::service::FileService;
use crate::lock;

impl<S: FileService> FileSystem<S> {
    /// Does what has to do with names.
    pub(super) fn names(self: &Arc<Self>, call: Call, operation: Operation) {
        let wanted = match self.wanted(&call, operation) {
            Ok(wanted) => wanted,
            Err(reason) => return self.refuse(&call, reason),
        };
        let looks = matches!(wanted, Wanted::LookUp(_));
        self.ask_and_see(call, wanted, move |system, call, result| match result {
            Ok(Reply::Found(found)) => system.tell_entry(&call, &found),
            Ok(Reply::Done) => system.answer(&call, &Answer::Done),
            Ok(Reply::Target(target)) => system.answer(&call, &Answer::Data(vec![target])),
            // A file that was made without being opened.
            Ok(Reply::Opened(open, found)) => {
                system.close_unused(&call, open);
                system.tell_entry(&call, &found);
            }
            Ok(_) => system.unexpected(&call),
            Err(error) if looks && errno_of(&error) == Errno::NOENT => {
                system.answer(&call, &Answer::Entry(system.nothing()));
            }
            Err(error) => system.fail(&call, &error),
        });
    }

    fn wanted(&self, call: &Call, operation: Operation) -> Result<Wanted, Errno> {
        let entry = |name: &Bytes| entry_of(call, name);
        Ok(match operation {
            Operation::LookUp(name) => Wanted::LookUp(entry(&name)?),
            Operation::ReadLink => Wanted::ReadLink(call.file),
            Operation::MakeSymbolicLink { name, target } => Wanted::MakeSymbolicLink {
                entry: entry(&name)?,
                target,
                attributes: NewAttributes::default(),
            },
            Operation::MakeNode { name, mode, device } => make_node(entry(&name)?, mode, device)?,
            Operation::MakeDirectory { name, mode } => Wanted::MakeDirectory {
                entry: entry(&name)?,
                attributes: with_mode(mode),
            },
            Operation::Remove(name) => Wanted::Remove(entry(&name)?),
            Operation::RemoveDirectory(name) => Wanted::RemoveDirectory(entry(&name)?),
            Operation::Rename {
                name,
                directory,
                new_name,
            } => Wanted::Rename {
                from: entry(&name)?,
                to: Entry::new(self.file_of(directory)?, &new_name).map_err(errno_of_name)?,
            },
            Operation::Link { file, name } => Wanted::Link {
                file: self.file_of(file)?,
                entry: entry(&name)?,
            },
            _ => return Err(Errno::NOSYS),
        })
    }

    fn file_of(&self, node: Node) -> Result<nfs::FileHandle, Errno> {
        lock(&self.nodes).file(node).ok_or(Errno::STALE)
    }

    /// That a name leads to nothing.
    fn nothing(&self) -> edges::fuse::Entry {
        edges::fuse::Entry {
            found: None,
            name_valid: self.memory.names,
            attributes_valid: Duration::ZERO,
        }
    }

    /// Tells the kernel what a name leads to.
    fn tell_entry(&self, call: &Call, found: &Found) {
        let entry = match self.refer(found) {
            Ok(entry) => entry,
            Err(error) => return self.fail(call, &error),
        };
        if !self.answer_taken(call, &Answer::Entry(entry)) {
            self.unrefer(&entry);
        }
    }

    /// Takes a reference back that the kernel has not taken.
    pub(super) fn unrefer(&self, entry: &edges::fuse::Entry) {
        if let Some(found) = entry.found {
            lock(&self.nodes).forget(found.node, 1);
        }
    }
}

/// The entry `name` of the call's directory.
pub(super) fn entry_of(call: &Call, name: &[u8]) -> Result<Entry, Errno> {
    Entry::new(call.file, name).map_err(errno_of_name)
}

fn make_node(entry: Entry, mode: u32, (major, minor): (u32, u32)) -> Result<Wanted, Errno> {
    let attributes = with_mode(mode);
    match kind_of(mode).ok_or(Errno::INVAL)? {
        FileType::Regular => Ok(Wanted::Create {
            entry,
            attributes: new_file(mode, true),
            exclusive: true,
        }),
        FileType::Directory | FileType::SymbolicLink => Err(Errno::INVAL),
        kind => Ok(Wanted::MakeNode {
            entry,
            kind,
            device: Device { major, minor },
            attributes,
        }),
    }
}
