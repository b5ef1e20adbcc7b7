//! The open files: read, written, flushed and closed, with the credentials of the process that opened them.

use std::sync::Arc;

use bytes::Bytes;
use files::{Found, OpenFile, Operation as Wanted};
use nfs::{Attributes, NewAttributes};

use crate::attributes::new_file;
use crate::call::{Call, Step};
use crate::errno::Failure;
use crate::names::entry_of;
use crate::{Answer, Errno, FileSystem, Handle, OpenFlags, Opened, Output};

impl FileSystem {
    /// Goes on with an open file: cuts it first if that is wanted.
    pub(crate) fn opened(&mut self, call: &Call, flags: OpenFlags, open: OpenFile, found: &Found) {
        if !self.nodes.may_be(call.node, &found.attributes) {
            self.note_open(call, open, false);
            self.close_unused(Handle(open.0));
            self.refuse(call, Errno::STALE);
        } else if flags.truncate {
            let file = call.file;
            let attributes = NewAttributes {
                size: Some(0),
                ..NewAttributes::default()
            };
            let wanted = Wanted::SetAttributes { file, attributes };
            self.ask(call, wanted, Step::Cut(open));
        } else {
            self.tell_opened(call, open, found);
        }
    }

    /// Goes on with an open file that was to be cut.
    pub(crate) fn cut(&mut self, call: &Call, open: OpenFile, result: Result<Attributes, Failure>) {
        let file = call.file;
        match result {
            Ok(attributes) => self.tell_opened(call, open, &Found { file, attributes }),
            Err(failure) => {
                self.fail(call, &failure);
                self.note_open(call, open, false);
                self.close_unused(Handle(open.0));
            }
        }
    }

    fn tell_opened(&mut self, call: &Call, open: OpenFile, found: &Found) {
        let keep_content = self.nodes.open(call.node, &found.attributes);
        if !keep_content && !self.memory.attributes.is_zero() {
            // A program that opens a file sees the data that others have written and closed.
            self.outputs.push_back(Output::ForgetAttributes(call.node));
        }
        let opened = self.note_open(call, open, keep_content);
        self.answer(call, Answer::Opened(opened));
    }

    fn note_open(&mut self, call: &Call, open: OpenFile, keep_content: bool) -> Opened {
        let handle = Handle(open.0);
        self.open_files
            .insert(handle, Arc::clone(&call.credentials));
        Opened {
            handle,
            keep_content,
        }
    }

    /// Makes a file if there is none, and opens it.
    pub(crate) fn create(&mut self, call: &Call, name: &Bytes, mode: u32, flags: OpenFlags) {
        let entry = match entry_of(call, name) {
            Ok(entry) => entry,
            Err(reason) => return self.refuse(call, reason),
        };
        let wanted = Wanted::Create {
            entry,
            attributes: NewAttributes {
                size: flags.truncate.then_some(0),
                ..new_file(mode, flags.exclusive)
            },
            exclusive: flags.exclusive,
        };
        self.ask(call, wanted, Step::Create);
    }

    /// Continues with a new open file.
    pub(crate) fn created(&mut self, call: &Call, open: OpenFile, found: &Found) {
        let opened = self.note_open(call, open, false);
        match self.refer(found) {
            Ok(entry) => self.answer(call, Answer::Created(entry, opened)),
            Err(failure) => {
                self.close_unused(opened.handle);
                self.fail(call, &failure);
            }
        }
    }

    /// Goes on with a file that was made without being opened by the kernel.
    pub(crate) fn made(&mut self, call: &Call, open: OpenFile, found: &Found) {
        self.submit(&call.credentials, Wanted::Close(open));
        self.tell_entry(call, found);
    }

    /// Returns the call in the name of the process that opened the file; refuses it if nothing is open.
    fn as_opener(&mut self, mut call: Call, handle: Handle) -> Option<Call> {
        if let Some(opener) = self.open_files.get(&handle) {
            call.credentials = Arc::clone(opener);
            return Some(call);
        }
        self.refuse(&call, Errno::BADF);
        None
    }

    pub(crate) fn read(&mut self, call: Call, handle: Handle, offset: u64, count: u32) {
        if let Some(call) = self.as_opener(call, handle) {
            let wanted = Wanted::Read {
                open: OpenFile(handle.0),
                offset,
                count,
            };
            self.ask(&call, wanted, Step::Read(count));
        }
    }

    /// Writes data; without an offset at the end of the file, as the server reports it: the kernel's may be outdated.
    /// The next attributes then invalidate the kernel's cached content.
    pub(crate) fn write(&mut self, call: Call, handle: Handle, offset: Option<u64>, data: Bytes) {
        let Some(call) = self.as_opener(call, handle) else {
            return;
        };
        let open = OpenFile(handle.0);
        if let Some(offset) = offset {
            return self.write_at(&call, open, offset, data);
        }
        let wanted = Wanted::Attributes(call.file);
        self.ask(&call, wanted, Step::Append(open, data));
    }

    pub(crate) fn write_at(&mut self, call: &Call, open: OpenFile, offset: u64, data: Bytes) {
        let step = Step::Finish(Answer::Written(data.len() as u32));
        self.ask(call, Wanted::Write { open, offset, data }, step);
    }

    pub(crate) fn flush(&mut self, call: Call, handle: Handle) {
        if let Some(call) = self.as_opener(call, handle) {
            let wanted = Wanted::Flush(OpenFile(handle.0));
            self.ask(&call, wanted, Step::Finish(Answer::Done));
        }
    }

    /// Closes a file. The kernel limits the number of waiting close requests, and no process waits for them, so it is
    /// answered first.
    pub(crate) fn close(&mut self, call: &Call, handle: Handle) {
        self.answer(call, Answer::Done);
        self.close_unused(handle);
    }

    /// Closes the file or directory of this handle.
    pub(crate) fn close_unused(&mut self, handle: Handle) {
        self.directories.close(handle);
        if let Some(opener) = self.open_files.remove(&handle) {
            self.submit(&opener, Wanted::Close(OpenFile(handle.0)));
        }
    }
}
