//! The operations on names: look-up, creation, rename and removal.

use bytes::Bytes;
use files::{Entry, Found, Operation as Wanted, Reply};
use nfs::{Device, FileType, NewAttributes};
use units::Duration;

use crate::attributes::{kind_of, new_file, with_mode};
use crate::call::{Call, Step};
use crate::errno::{Failure, errno_of_name};
use crate::{Answer, Errno, FileSystem, Node, Operation};

impl FileSystem {
    /// Begins an operation on a name.
    pub(crate) fn names(&mut self, call: Call, operation: Operation) {
        match self.wanted(&call, operation) {
            Ok(wanted) => {
                let looks = matches!(wanted, Wanted::LookUp(_));
                self.ask(call, wanted, Step::Name { looks });
            }
            Err(reason) => self.refuse(&call, reason),
        }
    }

    /// Answers a call for an operation on a name.
    pub(crate) fn named(&mut self, call: &Call, looks: bool, result: Result<Reply, Failure>) {
        match result {
            Ok(Reply::Found(found)) => self.tell_entry(call, &found),
            Ok(Reply::Done) => self.answer(call, Answer::Done),
            Ok(Reply::Target(target)) => self.answer(call, Answer::Data(vec![target])),
            // The file was created without being opened.
            Ok(Reply::Opened(open, found)) => {
                self.submit(&call.credentials, Wanted::Close(open));
                self.tell_entry(call, &found);
            }
            Ok(Reply::Attributes(_) | Reply::Page { .. } | Reply::Space(_) | Reply::Data(_)) => {
                self.unexpected(call);
            }
            Err(failure) if looks && failure.errno() == Errno::NOENT => {
                let nothing = crate::Entry {
                    found: None,
                    name_valid: self.memory.names,
                    attributes_valid: Duration::ZERO,
                };
                self.answer(call, Answer::Entry(nothing));
            }
            Err(failure) => self.fail(call, &failure),
        }
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
        self.nodes.file(node).ok_or(Errno::STALE)
    }

    fn tell_entry(&mut self, call: &Call, found: &Found) {
        match self.refer(found) {
            Ok(entry) => self.answer(call, Answer::Entry(entry)),
            Err(failure) => self.fail(call, &failure),
        }
    }
}

/// Returns the entry `name` of the call's directory.
pub(crate) fn entry_of(call: &Call, name: &[u8]) -> Result<Entry, Errno> {
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
