//! The operations on names: look-up, creation, rename and removal.

use bytes::Bytes;
use files::{Entry, Found, Operation as Wanted};
use nfs::{Device, FileType, NewAttributes};
use units::Duration;

use crate::attributes::{kind_of, new_file, with_mode};
use crate::call::{Call, Step};
use crate::errno::{Failure, errno_of_name};
use crate::{Answer, Errno, FileSystem, Node, Operation};

impl FileSystem {
    /// Does what has to do with names.
    pub(crate) fn names(&mut self, call: &Call, operation: Operation) {
        match self.wanted(call, operation) {
            Ok((wanted, step)) => self.ask(call, wanted, step),
            Err(reason) => self.refuse(call, reason),
        }
    }

    /// Answers a call that finds a name or makes one.
    pub(crate) fn named(&mut self, call: &Call, looks: bool, result: Result<Found, Failure>) {
        match result {
            Ok(found) => self.tell_entry(call, &found),
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

    fn wanted(&self, call: &Call, operation: Operation) -> Result<(Wanted, Step), Errno> {
        let entry = |name: &Bytes| entry_of(call, name);
        let made = Step::Entry { looks: false };
        let done = Step::Finish(Answer::Done);
        Ok(match operation {
            Operation::LookUp(name) => (Wanted::LookUp(entry(&name)?), Step::Entry { looks: true }),
            Operation::ReadLink => (Wanted::ReadLink(call.file), Step::Target),
            Operation::MakeSymbolicLink { name, target } => {
                let (entry, attributes) = (entry(&name)?, NewAttributes::default());
                let wanted = Wanted::MakeSymbolicLink {
                    entry,
                    target,
                    attributes,
                };
                (wanted, made)
            }
            Operation::MakeNode { name, mode, device } => {
                let (major, minor) = device;
                make_node(entry(&name)?, mode, major, minor)?
            }
            Operation::MakeDirectory { name, mode } => {
                let (entry, attributes) = (entry(&name)?, with_mode(mode));
                (Wanted::MakeDirectory { entry, attributes }, made)
            }
            Operation::Remove(name) => (Wanted::Remove(entry(&name)?), done),
            Operation::RemoveDirectory(name) => (Wanted::RemoveDirectory(entry(&name)?), done),
            Operation::Rename {
                name,
                directory,
                new_name,
            } => {
                let from = entry(&name)?;
                let directory = self.file_of(directory)?;
                let to = Entry::new(directory, &new_name).map_err(errno_of_name)?;
                (Wanted::Rename { from, to }, done)
            }
            Operation::Link { file, name } => {
                let (file, entry) = (self.file_of(file)?, entry(&name)?);
                (Wanted::Link { file, entry }, made)
            }
            _ => return Err(Errno::NOSYS),
        })
    }

    fn file_of(&self, node: Node) -> Result<nfs::FileHandle, Errno> {
        self.nodes.file(node).ok_or(Errno::STALE)
    }

    pub(crate) fn tell_entry(&mut self, call: &Call, found: &Found) {
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

fn make_node(entry: Entry, mode: u32, major: u32, minor: u32) -> Result<(Wanted, Step), Errno> {
    let attributes = with_mode(mode);
    match kind_of(mode).ok_or(Errno::INVAL)? {
        FileType::Regular => {
            let wanted = Wanted::Create {
                entry,
                attributes: new_file(mode, true),
                exclusive: true,
            };
            Ok((wanted, Step::Make))
        }
        FileType::Directory | FileType::SymbolicLink => Err(Errno::INVAL),
        kind => {
            let wanted = Wanted::MakeNode {
                entry,
                kind,
                device: Device { major, minor },
                attributes,
            };
            Ok((wanted, Step::Entry { looks: false }))
        }
    }
}
