//! Files that are open: read, written, flushed and closed, in the name of whoever opened them.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use edges::fuse::{Answer, Handle, OpenFlags, Opened};
use files::{Found, OpenFile, Operation as Wanted, Reply};
use nfs::NewAttributes;
use rpc::message::Credentials;
use rustix::io::Errno;

use super::attributes::new_file;
use super::calls::Call;
use super::file_system::FileSystem;
use super::names::entry_of;
use super::service::FileService;
use crate::lock;

/// The files that are open, by whom.
#[derive(Debug, Default)]
pub(super) struct OpenFiles(HashMap<Handle, Arc<Credentials>>);

impl OpenFiles {
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

fn handle_of(open: OpenFile) -> Handle {
    Handle(open.0)
}

impl<S: FileService> FileSystem<S> {
    /// Opens a file, and cuts it first if that is wanted.
    pub(super) fn open(self: &Arc<Self>, call: Call, flags: OpenFlags) {
        let file = call.file;
        self.ask(call, Wanted::Open(file), move |system, call, reply| {
            let Reply::Opened(open, found) = reply else {
                return system.unexpected(&call);
            };
            if !lock(&system.nodes).may_be(call.node, &found.attributes) {
                system.close_unused(&call, open);
                system.refuse(&call, Errno::STALE);
            } else if flags.truncate {
                system.cut(call, open);
            } else {
                system.tell_opened(&call, open, &found);
            }
        });
    }

    fn cut(self: &Arc<Self>, call: Call, open: OpenFile) {
        let file = call.file;
        let attributes = NewAttributes {
            size: Some(0),
            ..NewAttributes::default()
        };
        let wanted = Wanted::SetAttributes { file, attributes };
        self.ask_and_see(call, wanted, move |system, call, result| {
            match result {
                Ok(Reply::Attributes(attributes)) => {
                    return system.tell_opened(&call, open, &Found { file, attributes });
                }
                Ok(_) => system.unexpected(&call),
                Err(error) => system.fail(&call, &error),
            }
            system.close_unused(&call, open);
        });
    }

    fn tell_opened(self: &Arc<Self>, call: &Call, open: OpenFile, found: &Found) {
        let keep_content = lock(&self.nodes).open(call.node, &found.attributes);
        if !keep_content && !self.memory.attributes.is_zero() {
            // Whoever opens a file sees what others have closed.
            self.kernel.forget_attributes(call.node);
        }
        let opened = self.note_open(call, open, keep_content);
        if !self.answer_taken(call, &Answer::Opened(opened)) {
            self.close_unused(call, open);
        }
    }

    fn note_open(&self, call: &Call, open: OpenFile, keep_content: bool) -> Opened {
        let handle = handle_of(open);
        let credentials = Arc::clone(&call.credentials);
        lock(&self.open_files).0.insert(handle, credentials);
        Opened {
            handle,
            keep_content,
        }
    }

    /// Makes a file if there is none, and opens it.
    pub(super) fn create(
        self: &Arc<Self>,
        call: Call,
        name: &Bytes,
        (mode, flags): (u32, OpenFlags),
    ) {
        let entry = match entry_of(&call, name) {
            Ok(entry) => entry,
            Err(reason) => return self.refuse(&call, reason),
        };
        let wanted = Wanted::Create {
            entry,
            attributes: NewAttributes {
                size: flags.truncate.then_some(0),
                ..new_file(mode, flags.exclusive)
            },
            exclusive: flags.exclusive,
        };
        self.ask(call, wanted, |system, call, reply| {
            let Reply::Opened(open, found) = reply else {
                return system.unexpected(&call);
            };
            let entry = match system.refer(&found) {
                Ok(entry) => entry,
                Err(error) => {
                    system.close_unused(&call, open);
                    return system.fail(&call, &error);
                }
            };
            let opened = system.note_open(&call, open, false);
            if !system.answer_taken(&call, &Answer::Created(entry, opened)) {
                system.unrefer(&entry);
                system.close_unused(&call, open);
            }
        });
    }

    /// The call in the name of whoever opened the file.
    fn as_opener(&self, call: &Call, handle: Handle) -> Result<(Call, OpenFile), Errno> {
        let opener = lock(&self.open_files).0.get(&handle).cloned();
        let credentials = opener.ok_or(Errno::BADF)?;
        Ok((
            Call {
                credentials,
                ..call.clone()
            },
            OpenFile(handle.0),
        ))
    }

    pub(super) fn read(self: &Arc<Self>, call: &Call, handle: Handle, (offset, count): (u64, u32)) {
        let (call, open) = match self.as_opener(call, handle) {
            Ok(opened) => opened,
            Err(reason) => return self.refuse(call, reason),
        };
        let wanted = Wanted::Read {
            open,
            offset,
            count,
        };
        self.ask(call, wanted, move |system, call, reply| match reply {
            Reply::Data(pieces) if length(&pieces) <= u64::from(count) => {
                system.answer(&call, &Answer::Data(pieces));
            }
            _ => system.unexpected(&call),
        });
    }

    /// Writes. At the end of a file means the end that the server knows: the kernel's may be an old one. Then it
    /// notices by the next attributes that it remembers other content than there is.
    pub(super) fn write(
        self: &Arc<Self>,
        call: &Call,
        handle: Handle,
        (offset, data, append): (u64, Bytes, bool),
    ) {
        let (call, open) = match self.as_opener(call, handle) {
            Ok(opened) => opened,
            Err(reason) => return self.refuse(call, reason),
        };
        if !append {
            return self.write_at(call, open, (offset, data));
        }
        let file = call.file;
        self.ask(
            call,
            Wanted::Attributes(file),
            move |system, call, reply| {
                let Reply::Attributes(attributes) = reply else {
                    return system.unexpected(&call);
                };
                system.write_at(call, open, (attributes.size, data));
            },
        );
    }

    fn write_at(self: &Arc<Self>, call: Call, open: OpenFile, (offset, data): (u64, Bytes)) {
        let written = data.len() as u32;
        let wanted = Wanted::Write { open, offset, data };
        self.ask(call, wanted, move |system, call, reply| match reply {
            Reply::Done => system.answer(&call, &Answer::Written(written)),
            _ => system.unexpected(&call),
        });
    }

    pub(super) fn flush(self: &Arc<Self>, call: &Call, handle: Handle) {
        let (call, open) = match self.as_opener(call, handle) {
            Ok(opened) => opened,
            Err(reason) => return self.refuse(call, reason),
        };
        self.ask(
            call,
            Wanted::Flush(open),
            |system, call, reply| match reply {
                Reply::Done => system.answer(&call, &Answer::Done),
                _ => system.unexpected(&call),
            },
        );
    }

    /// Closes. Nobody waits for that, so the kernel, which lets only so many such requests wait, is answered first.
    pub(super) fn close(self: &Arc<Self>, call: &Call, handle: Handle) {
        self.answer(call, &Answer::Done);
        let opener = lock(&self.open_files).0.remove(&handle);
        if let Some(credentials) = opener {
            let closed = Wanted::Close(OpenFile(handle.0));
            self.service.submit(&credentials, closed, drop);
        }
    }

    /// Closes what the kernel has not got.
    pub(super) fn close_unused(&self, call: &Call, open: OpenFile) {
        lock(&self.open_files).0.remove(&handle_of(open));
        let closed = Wanted::Close(open);
        self.service.submit(&call.credentials, closed, drop);
    }
}

fn length(pieces: &[Bytes]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}
