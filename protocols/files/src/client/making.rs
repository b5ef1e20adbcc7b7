//! New names: directories, links, nodes, and files.

use bytes::Bytes;
use nfs::{Created, FileHandle, FileType, Outcome, Procedure, ReadLink, Status, WeakCacheData};
use units::Instant;

use super::Client;
use super::ask::CallReply;
use super::request::{ActiveRequest, Stage};
use crate::{Entry, Error, Found, Operation, Reply, Ticket};

/// Result of a call that makes something.
type Made = Outcome<Created, WeakCacheData>;

fn outcome(told: &CallReply, operation: &Operation) -> Result<Made, Error> {
    match operation {
        Operation::MakeDirectory { .. } => told.outcome::<nfs::MakeDirectory<'_>>(),
        Operation::MakeSymbolicLink { .. } => told.outcome::<nfs::MakeSymbolicLink<'_>>(),
        Operation::MakeNode { .. } => told.outcome::<nfs::MakeNode<'_>>(),
        _ => told.outcome::<nfs::Create<'_>>(),
    }
}

/// Returns the procedure that makes it.
fn procedure(operation: &Operation) -> Procedure {
    match operation {
        Operation::MakeDirectory { .. } => Procedure::MakeDirectory,
        Operation::MakeSymbolicLink { .. } => Procedure::MakeSymbolicLink,
        Operation::MakeNode { .. } => Procedure::MakeNode,
        Operation::Link { .. } => Procedure::Link,
        _ => Procedure::Create,
    }
}

/// Returns the type of the file that an operation makes.
fn kind(operation: &Operation) -> FileType {
    match operation {
        Operation::MakeDirectory { .. } => FileType::Directory,
        Operation::MakeSymbolicLink { .. } => FileType::SymbolicLink,
        Operation::MakeNode { kind, .. } => *kind,
        _ => FileType::Regular,
    }
}

impl Client {
    /// Processes the reply to the call that makes a directory, symbolic link, node or file.
    pub(super) fn made(
        &mut self,
        now: Instant,
        ticket: Ticket,
        told: &CallReply,
    ) -> Result<(), Error> {
        let Some(running) = self.requests.get(&ticket) else {
            return Ok(());
        };
        let operation = running.operation.clone();
        let Some(entry) = running.entry().cloned() else {
            return Ok(());
        };
        let directory = entry.directory();
        match outcome(told, &operation)? {
            Outcome::Done(created) => {
                self.note_own(now, told, directory, &created.directory);
                let Some(file) = created.object else {
                    self.ask(now, ticket, Stage::Untold);
                    return Ok(());
                };
                self.name_leads_to(&entry, Some(file));
                match self.note(now, told, file, created.attributes)? {
                    Some(attributes) => self.has_made(now, ticket, Found { file, attributes }),
                    None => self.ask(now, ticket, Stage::Attributes(file)),
                }
                Ok(())
            }
            Outcome::Failed { status, rest } => {
                self.note_own(now, told, directory, &rest);
                self.not_made(now, ticket, status, told)
            }
        }
    }

    fn not_made(
        &mut self,
        now: Instant,
        ticket: Ticket,
        status: Status,
        told: &CallReply,
    ) -> Result<(), Error> {
        let refused = told.refused(status);
        let repeated = self.is_repeated(ticket, told);
        let Some(running) = self.requests.get_mut(&ticket) else {
            return Ok(());
        };
        let stage = match (&running.operation, status) {
            (Operation::Create { exclusive, .. }, Status::Exists) if !exclusive => Stage::Existing,
            // With a verifier, the server itself detects if it was this request.
            (Operation::Create { .. }, Status::NotSupported) if running.verifier.is_some() => {
                running.verifier = None;
                Stage::Main
            }
            (Operation::Create { .. }, Status::Exists) if running.verifier.is_some() => {
                return Err(refused);
            }
            (_, Status::Exists) if repeated => Stage::Mine,
            _ => return Err(refused),
        };
        self.ask(now, ticket, stage);
        Ok(())
    }

    /// Processes the reply to the LOOKUP of a file that was made, or existed already.
    pub(super) fn made_found(
        &mut self,
        now: Instant,
        ticket: Ticket,
        told: &CallReply,
    ) -> Result<(), Error> {
        let Some(running) = self.requests.get(&ticket) else {
            return Ok(());
        };
        let (stage, operation) = (running.stage, running.operation.clone());
        let Some(entry) = running.entry().cloned() else {
            return Ok(());
        };
        let procedure = procedure(&operation);
        let (file, found) = self.found(now, &entry, told)?;
        let Some(found) = found else {
            return Err(Error::Untold { procedure });
        };
        let exists = Error::Refused {
            procedure,
            status: Status::Exists,
        };
        if let (Operation::Link { file: linked, .. }, Stage::Mine) = (&operation, stage) {
            return if *linked == file {
                self.has_made(now, ticket, found);
                Ok(())
            } else {
                Err(exists)
            };
        }
        if found.attributes.kind != kind(&operation) {
            let is_directory = found.attributes.kind == FileType::Directory;
            let status = if is_directory && stage == Stage::Existing {
                Status::IsDirectory
            } else {
                Status::Exists
            };
            return Err(Error::Refused { procedure, status });
        }
        match (stage, &operation) {
            (Stage::Mine, Operation::MakeSymbolicLink { .. }) => {
                self.ask(now, ticket, Stage::MineTarget(found));
            }
            (Stage::Existing, Operation::Create { attributes, .. }) => match attributes.size {
                Some(_) => self.cut_existing(now, ticket, found),
                None => self.open(ticket, found),
            },
            _ => self.has_made(now, ticket, found),
        }
        Ok(())
    }

    /// Truncates an existing file that should be created empty.
    fn cut_existing(&mut self, now: Instant, ticket: Ticket, found: Found) {
        if let Some(running) = self.requests.get_mut(&ticket) {
            running.found = Some(found);
        }
        self.hold_writers(ticket, found.file);
        if self.drain(now, ticket, found.file) {
            self.cut(now, ticket, found);
        }
    }

    /// Truncates the file: the server has what was written to it before.
    pub(super) fn cut(&mut self, now: Instant, ticket: Ticket, found: Found) {
        self.hold_all(ticket, found.file);
        self.ask(now, ticket, Stage::Dress(found));
    }

    /// Compares the target of a symbolic link that exists where a call that was sent twice should have made one.
    pub(super) fn mine_target(
        &mut self,
        now: Instant,
        ticket: Ticket,
        found: Found,
        told: &CallReply,
    ) -> Result<(), Error> {
        let there = told.done::<ReadLink>()?.path;
        let is_mine = |running: &ActiveRequest| match &running.operation {
            Operation::MakeSymbolicLink { target, .. } => there.bytes() == target,
            _ => false,
        };
        if !self.requests.get(&ticket).is_some_and(is_mine) {
            let procedure = Procedure::MakeSymbolicLink;
            let status = Status::Exists;
            return Err(Error::Refused { procedure, status });
        }
        self.has_made(now, ticket, found);
        Ok(())
    }

    /// Continues a request whose file exists now.
    pub(super) fn has_made(&mut self, now: Instant, ticket: Ticket, found: Found) {
        let Some(running) = self.requests.get(&ticket) else {
            return;
        };
        match &running.operation {
            // An exclusive CREATE sets no attributes: its verifier takes their place.
            Operation::Create { .. } if running.verifier.is_some() => {
                self.ask(now, ticket, Stage::Dress(found));
            }
            Operation::Create { .. } => self.open(ticket, found),
            Operation::SetAttributes { .. } => {
                self.end(ticket, Ok(Reply::Attributes(found.attributes)));
            }
            _ => self.end(ticket, Ok(Reply::Found(found))),
        }
    }

    /// Processes the reply to the call that sets the attributes of a created or existing file.
    pub(super) fn dressed(
        &mut self,
        now: Instant,
        ticket: Ticket,
        found: Found,
        told: &CallReply,
    ) -> Result<(), Error> {
        let file = found.file;
        let Some(running) = self.requests.get_mut(&ticket) else {
            return Ok(());
        };
        running.verifier = None;
        let data = told.done::<nfs::SetAttributes>()?;
        let calls = self.calls.made;
        // It may have been truncated: replies to older calls describe the time before that.
        self.node(file).changed_by(told.call, calls);
        self.node(file).forget();
        self.note_own(now, told, file, &data);
        if let Some(Operation::Create { attributes, .. }) =
            self.requests.get(&ticket).map(|running| &running.operation)
            && let Some(size) = attributes.size
        {
            self.resize(file, size);
        }
        match self.fresh(now, file) {
            Some(attributes) => self.open(ticket, Found { file, attributes }),
            None => self.ask(now, ticket, Stage::Attributes(file)),
        }
        Ok(())
    }

    /// Processes the reply to a LINK.
    pub(super) fn linked(
        &mut self,
        now: Instant,
        ticket: Ticket,
        file: FileHandle,
        entry: &Entry,
        told: &CallReply,
    ) -> Result<(), Error> {
        let outcome = told.outcome::<nfs::Link<'_>>()?;
        let (Outcome::Done(linked) | Outcome::Failed { rest: linked, .. }) = outcome;
        self.note_own(now, told, entry.directory(), &linked.directory);
        let known = self.note(now, told, file, linked.attributes)?;
        if let Outcome::Failed { status, .. } = outcome {
            if status == Status::Exists && self.is_repeated(ticket, told) {
                self.ask(now, ticket, Stage::Mine);
                return Ok(());
            }
            return Err(told.refused(status));
        }
        self.name_leads_to(entry, Some(file));
        match known {
            Some(attributes) if linked.attributes.is_some() => {
                self.has_made(now, ticket, Found { file, attributes });
            }
            _ => self.ask(now, ticket, Stage::Attributes(file)),
        }
        Ok(())
    }

    /// Remembers the file of a name until the directory changes.
    pub(super) fn name_leads_to(&mut self, entry: &Entry, file: Option<FileHandle>) {
        let name = Bytes::copy_from_slice(entry.name().bytes());
        self.node(entry.directory()).set_name(&name, file);
    }
}
