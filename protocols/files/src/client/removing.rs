//! Removal and renaming of names, also of open files.

use nfs::{FileHandle, Outcome, Status};
use rpc::message::Credentials;
use std::sync::Arc;
use units::Instant;

use super::Client;
use super::ask::{CallReply, Purpose};
use super::request::{self, Stage};
use crate::node::NameLookup;
use crate::{Entry, Error, Operation, Reply, Ticket};

impl Client {
    /// Returns the file of a name, if it is known.
    fn known_name(&self, now: Instant, entry: &Entry) -> Option<FileHandle> {
        let directory = self.nodes.get(&entry.directory())?;
        match directory.name(now, entry.name().bytes()) {
            NameLookup::To(file) => Some(file),
            NameLookup::Unknown | NameLookup::Nowhere => None,
        }
    }

    fn is_open(&self, file: FileHandle) -> bool {
        self.nodes
            .get(&file)
            .is_some_and(|node| node.opens > 0 && node.doomed.is_none())
    }

    pub(super) fn remove(&mut self, now: Instant, ticket: Ticket, entry: &Entry) {
        if self.openings.open.is_empty() {
            self.ask(now, ticket, Stage::Main);
            return;
        }
        match self.known_name(now, entry) {
            Some(file) => self.remove_file(now, ticket, file),
            None => self.ask(now, ticket, Stage::Victim),
        }
    }

    /// Continues a removal or a rename: the file that loses its name is known.
    fn remove_file(&mut self, now: Instant, ticket: Ticket, file: FileHandle) {
        if !self.is_open(file) {
            self.ask(now, ticket, Stage::Main);
            return;
        }
        let number = self.unique.next_u64();
        self.counters.open_removals += 1;
        self.ask(now, ticket, Stage::Doom(file, number));
    }

    /// Processes the LOOKUP of the file that loses its name.
    pub(super) fn victim_found(
        &mut self,
        now: Instant,
        ticket: Ticket,
        told: &CallReply,
    ) -> Result<(), Error> {
        let Some(running) = self.requests.get(&ticket) else {
            return Ok(());
        };
        let moves = matches!(running.operation, Operation::Rename { .. });
        let Some(entry) = running.entry().cloned() else {
            return Ok(());
        };
        match self.found(now, &entry, told) {
            Ok((file, _)) => self.remove_file(now, ticket, file),
            Err(error) if moves && error.status() == Some(Status::NoEntry) => {
                self.ask(now, ticket, Stage::Main);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Processes the reply to the rename that gives an open file a name of its own.
    pub(super) fn doomed(
        &mut self,
        now: Instant,
        ticket: Ticket,
        file: FileHandle,
        number: u64,
        told: &CallReply,
    ) -> Result<(), Error> {
        let Some(running) = self.requests.get(&ticket) else {
            return Ok(());
        };
        let moves = matches!(running.operation, Operation::Rename { .. });
        let Some(entry) = running.entry().cloned() else {
            return Ok(());
        };
        let directory = entry.directory();
        let outcome = told.outcome::<nfs::Rename<'_>>()?;
        let (Outcome::Done(renamed) | Outcome::Failed { rest: renamed, .. }) = outcome;
        self.note_own(now, told, directory, &renamed.to);
        if let Outcome::Failed { status, .. } = outcome
            && !(status == Status::NoEntry && told.repeated())
        {
            return Err(told.refused(status));
        }
        self.name_leads_to(&entry, None);
        let name = request::doomed_name(number);
        self.node(file).doomed = Entry::new(directory, name.as_bytes()).ok();
        if moves {
            self.ask(now, ticket, Stage::Main);
        } else {
            self.end(ticket, Ok(Reply::Done));
        }
        Ok(())
    }

    /// Removes a removed file that is no longer open.
    pub(super) fn remove_doomed(&mut self, now: Instant, caller: Arc<Credentials>, entry: Entry) {
        let place = nfs::Place {
            directory: entry.directory(),
            name: entry.name(),
        };
        let call = request::encoded(&nfs::Remove { place }, 0);
        self.call(now, caller, call, Purpose::Doomed(entry));
    }

    /// Processes the removal. If it failed, the file stays: servers usually remove such files some day.
    pub(super) fn was_removed(&mut self, now: Instant, entry: &Entry, told: &CallReply) {
        if let Ok(outcome) = told.outcome::<nfs::Remove<'_>>() {
            let (Outcome::Done(data) | Outcome::Failed { rest: data, .. }) = outcome;
            self.note_own(now, told, entry.directory(), &data);
        }
    }

    pub(super) fn removed(
        &mut self,
        now: Instant,
        ticket: Ticket,
        entry: &Entry,
        told: &CallReply,
    ) -> Result<(), Error> {
        let outcome = told.outcome::<nfs::Remove<'_>>()?;
        self.entry_gone(now, ticket, entry, outcome, told)
    }

    pub(super) fn directory_removed(
        &mut self,
        now: Instant,
        ticket: Ticket,
        entry: &Entry,
        told: &CallReply,
    ) -> Result<(), Error> {
        let outcome = told.outcome::<nfs::RemoveDirectory<'_>>()?;
        self.entry_gone(now, ticket, entry, outcome, told)
    }

    fn entry_gone(
        &mut self,
        now: Instant,
        ticket: Ticket,
        entry: &Entry,
        outcome: Outcome<nfs::WeakCacheData, nfs::WeakCacheData>,
        told: &CallReply,
    ) -> Result<(), Error> {
        let victim = self.known_name(now, entry);
        let (Outcome::Done(data) | Outcome::Failed { rest: data, .. }) = &outcome;
        self.note_own(now, told, entry.directory(), data);
        if let Outcome::Failed { status, .. } = outcome
            && !(status == Status::NoEntry && self.is_repeated(ticket, told))
        {
            return Err(told.refused(status));
        }
        self.name_leads_to(entry, None);
        if let Some(victim) = victim {
            // It may have other names, and has one less.
            self.node(victim).expire();
        }
        self.end(ticket, Ok(Reply::Done));
        Ok(())
    }

    pub(super) fn rename(&mut self, now: Instant, ticket: Ticket, from: &Entry, to: &Entry) {
        let Some(source) = self.known_name(now, from) else {
            self.ask(now, ticket, Stage::Source);
            return;
        };
        self.rename_file(now, ticket, source, to);
    }

    /// Processes the LOOKUP of the file to rename.
    pub(super) fn source_found(
        &mut self,
        now: Instant,
        ticket: Ticket,
        told: &CallReply,
    ) -> Result<(), Error> {
        let Some(Operation::Rename { from, to }) = self
            .requests
            .get(&ticket)
            .map(|running| running.operation.clone())
        else {
            return Ok(());
        };
        let (source, _) = self.found(now, &from, told)?;
        self.rename_file(now, ticket, source, &to);
        Ok(())
    }

    /// Makes the file's written data safe before it replaces another, because programs replace files that way.
    fn rename_file(&mut self, now: Instant, ticket: Ticket, source: FileHandle, to: &Entry) {
        if let Some(running) = self.requests.get_mut(&ticket) {
            running.moved = Some(source);
        }
        if self.make_safe(now, ticket, source) {
            self.replace(now, ticket, to);
        }
    }

    /// Continues with the file that has the new name: the data of the renamed file are safe.
    pub(super) fn replace(&mut self, now: Instant, ticket: Ticket, to: &Entry) {
        let moved = self.requests.get(&ticket).and_then(|running| running.moved);
        if self.openings.open.is_empty() {
            self.ask(now, ticket, Stage::Main);
            return;
        }
        match self.known_name(now, to) {
            Some(file) if Some(file) == moved => self.ask(now, ticket, Stage::Main),
            Some(file) => self.remove_file(now, ticket, file),
            None => self.ask(now, ticket, Stage::Victim),
        }
    }

    pub(super) fn renamed(
        &mut self,
        now: Instant,
        ticket: Ticket,
        from: &Entry,
        to: &Entry,
        told: &CallReply,
    ) -> Result<(), Error> {
        let outcome = told.outcome::<nfs::Rename<'_>>()?;
        let (Outcome::Done(renamed) | Outcome::Failed { rest: renamed, .. }) = outcome;
        let victim = self.known_name(now, to);
        if from.directory() == to.directory() {
            self.note_own(now, told, to.directory(), &renamed.to);
        } else {
            self.note_own(now, told, from.directory(), &renamed.from);
            self.note_own(now, told, to.directory(), &renamed.to);
        }
        let Some(running) = self.requests.get(&ticket) else {
            return Ok(());
        };
        if let Outcome::Failed { status, .. } = outcome {
            if status == Status::NoEntry && self.is_repeated(ticket, told) {
                self.ask(now, ticket, Stage::Moved);
                return Ok(());
            }
            return Err(told.refused(status));
        }
        let moved = running.moved;
        self.has_moved(from, to, moved, victim);
        self.end(ticket, Ok(Reply::Done));
        Ok(())
    }

    fn has_moved(
        &mut self,
        from: &Entry,
        to: &Entry,
        moved: Option<FileHandle>,
        victim: Option<FileHandle>,
    ) {
        if victim.is_some() && victim == moved {
            // Two names of one file: nothing happens (POSIX).
            self.node(from.directory()).expire();
            return;
        }
        self.name_leads_to(from, None);
        self.name_leads_to(to, moved);
        for file in victim.into_iter().chain(moved) {
            self.node(file).expire();
        }
    }

    /// Finds out if a rename that was sent twice, and found no source the last time, succeeded the first time.
    pub(super) fn moved_found(
        &mut self,
        now: Instant,
        ticket: Ticket,
        told: &CallReply,
    ) -> Result<(), Error> {
        let Some(running) = self.requests.get(&ticket) else {
            return Ok(());
        };
        let Operation::Rename { from, to } = running.operation.clone() else {
            return Ok(());
        };
        let moved = running.moved;
        let (file, _) = self.found(now, &to, told)?;
        if Some(file) != moved {
            let procedure = nfs::Procedure::Rename;
            let status = Status::NoEntry;
            return Err(Error::Refused { procedure, status });
        }
        self.has_moved(&from, &to, moved, None);
        self.end(ticket, Ok(Reply::Done));
        Ok(())
    }
}
