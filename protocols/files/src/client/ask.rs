//! Calls and their replies.

use std::sync::Arc;

use bytes::Bytes;
use machine::Machine;
use nfs::checks::Implausible;
use nfs::{
    Attributes, FileHandle, FileSystemStatus, GetAttributes, Procedure, Stability, Status, Value,
    WeakCacheData,
};
use rpc::Failure;
use rpc::message::Credentials;
use units::{Duration, Instant};

use super::request::{self, EncodedCall, Paging, Stage};
use super::{AGAIN_AFTER, Alarm, Client};
use crate::block::Cost;
use crate::config::LIMITS;
use crate::window::Pace;
use crate::{Entry, Error, Operation, Reply, Ticket};

/// Purpose of a call.
#[derive(Debug, Clone)]
pub(super) enum Purpose {
    /// Part of a request.
    Request(Ticket),
    /// Reads a block of this length in bytes.
    Read(FileHandle, u32),
    /// Writes a block of this length in bytes, with this stability.
    Write(FileHandle, usize, Stability),
    /// Commits the written data of a file.
    Commit(FileHandle),
    /// Removes a file that was removed while it was open.
    Doomed(Entry),
}

/// A call without a reply so far.
#[derive(Debug, Clone)]
pub(super) struct PendingCall {
    pub(super) purpose: Purpose,
    pub(super) procedure: Procedure,
}

/// The result of a call.
#[derive(Debug, Clone)]
pub(super) struct CallReply {
    /// Number of the call.
    pub(super) call: u64,
    pub(super) procedure: Procedure,
    pub(super) result: Result<Bytes, Failure>,
    /// Number of transmissions of the call.
    pub(super) transmissions: u32,
    pub(super) elapsed: Duration,
    /// Time from the last transmission to the reply.
    pub(super) since_last: Duration,
}

impl CallReply {
    /// Decodes the reply to `R`.
    pub(super) fn outcome<R: nfs::Request>(&self) -> Result<nfs::Answer<'_, R>, Error> {
        let procedure = self.procedure;
        match &self.result {
            Ok(bytes) => nfs::Answer::<'_, R>::decode(bytes, &LIMITS)
                .map_err(|fault| Error::Malformed { procedure, fault }),
            Err(failure) => Err(Error::Failed {
                procedure,
                failure: *failure,
            }),
        }
    }

    /// Returns the result of `R` if the server carried it out.
    pub(super) fn done<R: nfs::Request>(&self) -> Result<R::Done<'_>, Error> {
        let refused = |status| self.refused(status);
        self.outcome::<R>()?.done().map_err(refused)
    }

    /// Returns the error for a call that the server refused.
    pub(super) fn refused(&self, status: Status) -> Error {
        let procedure = self.procedure;
        Error::Refused { procedure, status }
    }

    /// Returns the error for a reply that cannot be true.
    pub(super) fn implausible(&self, fault: Implausible) -> Error {
        let procedure = self.procedure;
        Error::Implausible { procedure, fault }
    }

    /// Returns `part` of the reply, without a copy.
    pub(super) fn slice(&self, part: &[u8]) -> Bytes {
        match &self.result {
            Ok(bytes) if !part.is_empty() => bytes.slice_ref(part),
            _ => Bytes::new(),
        }
    }

    /// Returns the pace of a block, if it was answered.
    pub(super) fn pace(&self) -> Option<Pace> {
        let pace = if self.repeated() {
            Pace::Repeated(self.since_last)
        } else {
            Pace::AtFirst(self.elapsed)
        };
        self.result.is_ok().then_some(pace)
    }

    /// Returns the cost of a block, if it was answered.
    pub(super) fn cost(&self) -> Option<Cost> {
        self.result.is_ok().then_some(Cost {
            copies: self.transmissions,
            elapsed: self.elapsed,
            since_last: self.since_last,
        })
    }

    /// Returns true if the server may have carried out the call before it made this reply.
    pub(super) fn repeated(&self) -> bool {
        self.transmissions > 1
    }

    /// Returns true if the server wants the call to be repeated later.
    fn wants_time(&self) -> bool {
        let status = self.result.as_ref().ok().and_then(|bytes| bytes.get(..4));
        status == Some(&(Status::TryLater as u32).to_be_bytes()[..])
    }
}

impl Client {
    /// Makes a call; returns its number.
    pub(super) fn call(
        &mut self,
        now: Instant,
        caller: Arc<Credentials>,
        call: EncodedCall,
        purpose: Purpose,
    ) -> u64 {
        let EncodedCall {
            procedure,
            arguments,
        } = call;
        self.calls.made += 1;
        let number = self.calls.made;
        self.calls
            .sent
            .insert(number, PendingCall { purpose, procedure });
        let request = rpc::Request {
            ticket: Ticket(number),
            procedure: procedure.into(),
            class: procedure.class(),
            credentials: caller,
            arguments,
            patience: self.config.patience,
        };
        self.calls.rpc.handle_input(now, rpc::Input::Call(request));
        number
    }

    /// Makes the call for the next stage of a request.
    pub(super) fn ask(&mut self, now: Instant, ticket: Ticket, stage: Stage) {
        let paging = Paging {
            plus: !self.server.lacks_plus,
            bytes: self.server.directory,
        };
        let Some(running) = self.requests.get_mut(&ticket) else {
            return;
        };
        running.stage = stage;
        if stage == Stage::Main {
            self.counters.requests += 1;
        }
        let Some(call) = request::encode(running, paging) else {
            let procedure = Procedure::Null;
            let status = Status::InvalidArgument;
            self.end(ticket, Err(Error::Refused { procedure, status }));
            return;
        };
        let caller = Arc::clone(&running.caller);
        let number = self.call(now, caller, call, Purpose::Request(ticket));
        if let Some(running) = self.requests.get_mut(&ticket) {
            running.call = Some(number);
        }
    }

    /// Processes the reply to a call.
    pub(super) fn answer(&mut self, now: Instant, answer: rpc::Answer) {
        let Some(PendingCall { purpose, procedure }) = self.calls.sent.remove(&answer.ticket.0)
        else {
            return;
        };
        let told = CallReply {
            call: answer.ticket.0,
            procedure,
            transmissions: answer.transmissions,
            result: answer.result,
            elapsed: answer.elapsed,
            since_last: answer.since_last,
        };
        let wants_time = told.wants_time();
        if wants_time {
            self.counters.postponed += 1;
        }
        match purpose {
            Purpose::Request(ticket) => {
                if let Some(running) = self.requests.get_mut(&ticket) {
                    running.call = None;
                    running.repeated |= told.repeated() && wants_time;
                }
                if wants_time {
                    self.alarms.set(now + AGAIN_AFTER, Alarm::Request(ticket));
                } else {
                    self.advance(now, ticket, &told);
                }
            }
            Purpose::Read(file, asked) => self.was_read(now, file, asked, &told, wants_time),
            Purpose::Write(file, given, asked) => {
                self.was_written(now, (file, given, asked), &told, wants_time);
            }
            Purpose::Commit(file) => self.was_committed(now, file, &told, wants_time),
            Purpose::Doomed(entry) => self.was_removed(now, &entry, &told),
        }
    }

    /// Processes the reply to a call of a request.
    fn advance(&mut self, now: Instant, ticket: Ticket, told: &CallReply) {
        let Some(running) = self.requests.get(&ticket) else {
            return;
        };
        let result = match running.stage {
            Stage::Parked => Ok(()),
            Stage::Main => self.main_answered(now, ticket, told),
            Stage::Attributes(file) => self.attributes_told(now, ticket, file, told),
            Stage::Untold | Stage::Mine | Stage::Existing => self.made_found(now, ticket, told),
            Stage::MineTarget(found) => self.mine_target(now, ticket, found, told),
            Stage::Dress(found) => self.dressed(now, ticket, found, told),
            Stage::Victim => self.victim_found(now, ticket, told),
            Stage::Doom(file, number) => self.doomed(now, ticket, file, number, told),
            Stage::Source => self.source_found(now, ticket, told),
            Stage::Moved => self.moved_found(now, ticket, told),
        };
        if let Err(error) = result {
            self.end(ticket, Err(error));
        }
    }

    /// Processes the reply to a request's own call.
    fn main_answered(
        &mut self,
        now: Instant,
        ticket: Ticket,
        told: &CallReply,
    ) -> Result<(), Error> {
        let Some(running) = self.requests.get(&ticket) else {
            return Ok(());
        };
        match running.operation.clone() {
            Operation::LookUp(entry) => self.looked_up(now, ticket, &entry, told),
            Operation::Attributes(file) => {
                let attributes = self.told_attributes(now, told, file)?;
                self.end(ticket, Ok(Reply::Attributes(attributes)));
                Ok(())
            }
            Operation::SetAttributes { file, .. } => self.attributes_set(now, ticket, file, told),
            Operation::ReadLink(link) => self.link_read(now, ticket, link, told),
            Operation::List { directory, from } => self.listed(now, ticket, directory, from, told),
            Operation::Space(root) => {
                let space = told.done::<FileSystemStatus>()?;
                self.note(now, told, root, space.attributes)?;
                self.end(ticket, Ok(Reply::Space(space)));
                Ok(())
            }
            Operation::Open(file) => self.opened(now, ticket, file, told),
            Operation::Remove(entry) => self.removed(now, ticket, &entry, told),
            Operation::RemoveDirectory(entry) => self.directory_removed(now, ticket, &entry, told),
            Operation::Rename { from, to } => self.renamed(now, ticket, &from, &to, told),
            Operation::Link { file, entry } => self.linked(now, ticket, file, &entry, told),
            _ => self.made(now, ticket, told),
        }
    }

    /// Records the attributes of a file that a reply carried.
    pub(super) fn note(
        &mut self,
        now: Instant,
        told: &CallReply,
        file: FileHandle,
        attributes: Option<Attributes>,
    ) -> Result<Option<Attributes>, Error> {
        let Some(attributes) = attributes else {
            return Ok(None);
        };
        let attributes = attributes
            .checked()
            .map_err(|fault| told.implausible(fault))?;
        let validity = self.config.validity;
        let node = self.node(file);
        node.note(now, told.call, attributes, &validity);
        Ok(node.known())
    }

    /// Records the attributes that were requested; returns them as they will be when the server has all written data.
    pub(super) fn told_attributes(
        &mut self,
        now: Instant,
        told: &CallReply,
        file: FileHandle,
    ) -> Result<Attributes, Error> {
        let attributes = told.done::<GetAttributes>()?;
        let known = self.note(now, told, file, Some(attributes))?;
        Ok(known.unwrap_or(attributes))
    }

    /// Returns a file's attributes while they are valid.
    pub(super) fn fresh(&self, now: Instant, file: FileHandle) -> Option<Attributes> {
        self.nodes.get(&file)?.fresh(now)
    }

    /// Returns true if a request may have been carried out before the reply to its call was made.
    pub(super) fn is_repeated(&self, ticket: Ticket, told: &CallReply) -> bool {
        let running = self.requests.get(&ticket);
        told.repeated() || running.is_some_and(|running| running.repeated)
    }

    /// Records the attributes of a file before and after a call of this client.
    pub(super) fn note_own(
        &mut self,
        now: Instant,
        told: &CallReply,
        file: FileHandle,
        data: &WeakCacheData,
    ) {
        let after = data.after.and_then(|after| after.checked().ok());
        let data = WeakCacheData { after, ..*data };
        let validity = self.config.validity;
        self.node(file).note_own(now, told.call, &data, &validity);
    }
}
