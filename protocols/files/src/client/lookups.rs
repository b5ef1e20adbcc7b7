//! Names, attributes, and targets of links.

use bytes::Bytes;
use nfs::{FileHandle, Procedure, ReadLink, Status};
use units::Instant;

use super::Client;
use super::ask::CallReply;
use super::request::Stage;
use crate::node::NameLookup;
use crate::{Entry, Error, Found, Operation, Reply, Ticket};

impl Client {
    pub(super) fn look_up(&mut self, now: Instant, ticket: Ticket, entry: &Entry) {
        let directory = self.nodes.get(&entry.directory());
        let name = entry.name().bytes();
        let leads = directory.map_or(NameLookup::Unknown, |node| node.name(now, name));
        match leads {
            NameLookup::To(file) => {
                if let Some(attributes) = self.fresh(now, file) {
                    self.end(ticket, Ok(Reply::Found(Found { file, attributes })));
                    return;
                }
            }
            NameLookup::Nowhere => {
                let procedure = Procedure::LookUp;
                let status = Status::NoEntry;
                self.end(ticket, Err(Error::Refused { procedure, status }));
                return;
            }
            NameLookup::Unknown => {}
        }
        self.ask(now, ticket, Stage::Main);
    }

    /// Processes the reply to a LOOKUP of `entry`, which may lack the attributes.
    pub(super) fn found(
        &mut self,
        now: Instant,
        entry: &Entry,
        told: &CallReply,
    ) -> Result<(FileHandle, Option<Found>), Error> {
        let directory = entry.directory();
        let name = Bytes::copy_from_slice(entry.name().bytes());
        let found = match told.outcome::<nfs::LookUp<'_>>()? {
            nfs::Outcome::Done(found) => found,
            nfs::Outcome::Failed { status, rest } => {
                self.note(now, told, directory, rest)?;
                let node = self.node(directory);
                if status == Status::NoEntry && node.fresh(now).is_some() {
                    node.set_name(&name, None);
                }
                return Err(told.refused(status));
            }
        };
        self.note(now, told, directory, found.directory)?;
        self.node(directory).set_name(&name, Some(found.object));
        let file = found.object;
        let attributes = self.note(now, told, file, found.attributes)?;
        Ok((
            file,
            attributes.map(|attributes| Found { file, attributes }),
        ))
    }

    pub(super) fn looked_up(
        &mut self,
        now: Instant,
        ticket: Ticket,
        entry: &Entry,
        told: &CallReply,
    ) -> Result<(), Error> {
        match self.found(now, entry, told)? {
            (_, Some(found)) => self.end(ticket, Ok(Reply::Found(found))),
            (file, None) => self.ask(now, ticket, Stage::Attributes(file)),
        }
        Ok(())
    }

    /// Processes the attributes that a reply lacked.
    pub(super) fn attributes_told(
        &mut self,
        now: Instant,
        ticket: Ticket,
        file: FileHandle,
        told: &CallReply,
    ) -> Result<(), Error> {
        let attributes = self.told_attributes(now, told, file)?;
        self.has_made(now, ticket, Found { file, attributes });
        Ok(())
    }

    pub(super) fn attributes(&mut self, now: Instant, ticket: Ticket, file: FileHandle) {
        match self.fresh(now, file) {
            Some(attributes) => self.end(ticket, Ok(Reply::Attributes(attributes))),
            None => self.ask(now, ticket, Stage::Main),
        }
    }

    /// Sets attributes after all written data are sent, because these would change size and times again.
    pub(super) fn set_attributes(&mut self, now: Instant, ticket: Ticket, file: FileHandle) {
        self.hold_writers(ticket, file);
        if self.drain(now, ticket, file) {
            self.change_attributes(now, ticket, file);
        }
    }

    /// Sends the attributes: the server has all that was written.
    pub(super) fn change_attributes(&mut self, now: Instant, ticket: Ticket, file: FileHandle) {
        self.hold_all(ticket, file);
        self.node(file).change_began();
        self.ask(now, ticket, Stage::Main);
    }

    pub(super) fn attributes_set(
        &mut self,
        now: Instant,
        ticket: Ticket,
        file: FileHandle,
        told: &CallReply,
    ) -> Result<(), Error> {
        let calls = self.calls.made;
        self.node(file).change_ended(told.call, calls);
        let outcome = told.outcome::<nfs::SetAttributes>();
        if let Ok(nfs::Outcome::Done(data) | nfs::Outcome::Failed { rest: data, .. }) = &outcome {
            // The server has answered all writes, so these are the latest.
            self.node(file).forget();
            self.note_own(now, told, file, data);
        }
        let size = match self.requests.get(&ticket).map(|running| &running.operation) {
            Some(Operation::SetAttributes { attributes, .. }) => attributes.size,
            _ => None,
        };
        let done = told.done::<nfs::SetAttributes>();
        if let (Ok(_), Some(size)) = (&done, size) {
            self.resize(file, size);
        }
        done?;
        match self.fresh(now, file) {
            Some(attributes) => self.end(ticket, Ok(Reply::Attributes(attributes))),
            None => self.ask(now, ticket, Stage::Attributes(file)),
        }
        Ok(())
    }

    pub(super) fn link_read(
        &mut self,
        now: Instant,
        ticket: Ticket,
        link: FileHandle,
        told: &CallReply,
    ) -> Result<(), Error> {
        let target = told.done::<ReadLink>()?;
        self.note(now, told, link, target.attributes)?;
        let target = Bytes::copy_from_slice(target.path.bytes());
        self.end(ticket, Ok(Reply::Target(target)));
        Ok(())
    }
}
