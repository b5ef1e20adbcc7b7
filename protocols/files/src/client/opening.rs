//! Opening, creating and closing of files.

use std::sync::Arc;

use nfs::{CreateVerifier, FileHandle, FileType, Status};
use units::Instant;

use super::ask::CallReply;
use super::request::{ActiveRequest, Stage};
use super::{Client, OpenHandle};
use crate::{Error, Found, OpenFile, Operation, Reply, Ticket};

impl Client {
    pub(super) fn create(&mut self, now: Instant, ticket: Ticket, exclusive: bool) {
        let verifier = CreateVerifier(self.unique.next_u64().to_be_bytes());
        if let Some(running) = self.requests.get_mut(&ticket) {
            running.verifier = exclusive.then_some(verifier);
        }
        self.ask(now, ticket, Stage::Main);
    }

    /// Processes the attributes requested at an open: if the file has changed, its data are read anew. So data that
    /// others wrote and closed before are seen from here on.
    pub(super) fn opened(
        &mut self,
        now: Instant,
        ticket: Ticket,
        file: FileHandle,
        told: &CallReply,
    ) -> Result<(), Error> {
        let attributes = self.told_attributes(now, told, file)?;
        match attributes.kind {
            FileType::Regular => self.open(ticket, Found { file, attributes }),
            FileType::Directory => return Err(told.refused(Status::IsDirectory)),
            _ => return Err(told.refused(Status::InvalidArgument)),
        }
        Ok(())
    }

    /// Opens a file that exists.
    pub(super) fn open(&mut self, ticket: Ticket, found: Found) {
        let Some(running) = self.requests.get(&ticket) else {
            return;
        };
        let caller = Arc::clone(&running.caller);
        let node = self.node(found.file);
        if node.content.readers.is_empty() {
            node.content.extents.forget();
        }
        node.opens += 1;
        let errors_told = node.content.errors.count;
        self.openings.made += 1;
        let open = OpenFile(self.openings.made);
        self.openings.open.insert(
            open,
            OpenHandle {
                file: found.file,
                caller,
                errors_told,
            },
        );
        self.end(ticket, Ok(Reply::Opened(open, found)));
    }

    /// Returns the opening with this number; ends the request if there is none.
    pub(super) fn opening(&mut self, ticket: Ticket, open: OpenFile) -> Option<OpenHandle> {
        let opening = self.openings.open.get(&open).cloned();
        if opening.is_none() {
            self.end(ticket, Err(Error::NotOpen));
        }
        opening
    }

    /// Closes a file. Written data are still sent. Data that the server refuses are dropped with the last opening.
    pub(super) fn close(&mut self, now: Instant, ticket: Ticket, open: OpenFile) {
        let Some(OpenHandle { file, caller, .. }) = self.openings.open.remove(&open) else {
            self.end(ticket, Err(Error::NotOpen));
            return;
        };
        let node = self.node(file);
        node.opens -= 1;
        if node.opens == 0 {
            if let Some(entry) = node.doomed.take() {
                self.discard(file);
                self.remove_doomed(now, caller, entry);
            } else if node.content.sending.refused {
                self.discard(file);
            }
            let content = &mut self.node(file).content;
            if content.readers.is_empty() {
                content.extents.forget();
            }
            self.look_after(now, file);
        }
        self.end(ticket, Ok(Reply::Done));
    }

    /// Withdraws a request for which nobody waits any more: what it held continues.
    pub(super) fn withdraw(&mut self, now: Instant, ticket: Ticket, running: &ActiveRequest) {
        let file = match &running.operation {
            Operation::SetAttributes { file, .. } => Some(*file),
            Operation::Create { .. } => running.found.map(|found| found.file),
            Operation::Rename { .. } => running.moved,
            Operation::Read { open, .. }
            | Operation::Write { open, .. }
            | Operation::Flush(open) => self.openings.open.get(open).map(|opening| opening.file),
            _ => None,
        };
        if matches!(running.operation, Operation::Sync) {
            for file in self.written.unsafe_files.clone() {
                self.node(file).content.forget_request(ticket);
            }
        }
        if let Some(entry) = running.entry() {
            // It may still be carried out, or may have been.
            let directory = entry.directory();
            self.node(directory).expire();
        }
        let Some(file) = file else {
            return;
        };
        self.node(file).content.forget_request(ticket);
        let changes = matches!(running.operation, Operation::SetAttributes { .. });
        if changes && running.stage != Stage::Parked {
            let calls = self.calls.made;
            self.node(file).change_ended(0, calls);
            self.node(file).expire();
        }
        self.written
            .lifted
            .extend(running.barrier.map(|file| (file, ticket)));
        self.look_after(now, file);
    }

    /// Forgets what is remembered of a file that the server does not know any more.
    pub(super) fn forget_stale(&mut self, operation: &Operation, error: &Error) {
        if error.status() != Some(Status::Stale) {
            return;
        }
        let files = match operation {
            Operation::Attributes(file)
            | Operation::Open(file)
            | Operation::ReadLink(file)
            | Operation::Space(file)
            | Operation::List {
                directory: file, ..
            }
            | Operation::SetAttributes { file, .. }
            | Operation::Link { file, .. } => Some(*file),
            _ => None,
        };
        let directory = super::request::entry(operation).map(crate::Entry::directory);
        for file in files.into_iter().chain(directory) {
            self.node(file).expire();
        }
    }
}
