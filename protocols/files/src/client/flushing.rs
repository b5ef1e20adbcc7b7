//! Flushes: written data are made safe.

use nfs::{Commit, FileHandle};
use planted::Bug;
use units::Instant;

use super::ask::{CallReply, Purpose};
use super::request;
use super::request::Stage;
use super::{AGAIN_AFTER, Alarm, Client};
use crate::node::{Flusher, SizeChange};
use crate::{Error, OpenFile, Operation, Reply, Ticket};

impl Client {
    pub(super) fn flush(&mut self, now: Instant, ticket: Ticket, open: OpenFile) {
        let Some(opening) = self.opening(ticket, open) else {
            return;
        };
        if let Err(error) = self.untold_error(open) {
            self.end(ticket, Err(error));
            return;
        }
        if self.make_safe(now, ticket, opening.file) {
            self.end(ticket, Ok(Reply::Done));
        }
    }

    pub(super) fn sync(&mut self, now: Instant, ticket: Ticket) {
        for file in self.written.unsafe_files.clone() {
            self.make_safe(now, ticket, file);
        }
        self.end_sync(ticket, None);
    }

    /// Ends a sync: all data are safe, or some cannot be made safe.
    fn end_sync(&mut self, ticket: Ticket, error: Option<Error>) {
        let waits = |flusher: &Flusher| flusher.ticket == ticket;
        let files = self.written.unsafe_files.iter();
        let mut contents = files
            .filter_map(|file| self.nodes.get(file))
            .map(|node| &node.content);
        if let Some(error) = error {
            self.end(ticket, Err(error));
        } else if !contents.any(|content| content.flushers.iter().any(waits)) {
            self.end(ticket, Ok(Reply::Done));
        }
    }

    /// Returns a write error that was not reported at this opening of the file, if there is one.
    pub(super) fn untold_error(&mut self, open: OpenFile) -> Result<(), Error> {
        let Some(opening) = self.openings.open.get_mut(&open) else {
            return Ok(());
        };
        let Some(node) = self.nodes.get(&opening.file) else {
            return Ok(());
        };
        let content = &node.content;
        if content.errors.count > opening.errors_told && !planted::is(Bug::OthersAreNotTold) {
            opening.errors_told = content.errors.count;
            return content.errors.last.map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Starts to make safe all that was written so far. Returns true if it is already; otherwise the request continues
    /// when it is.
    pub(super) fn make_safe(&mut self, now: Instant, ticket: Ticket, file: FileHandle) -> bool {
        self.wait_for_writes(now, ticket, true, file)
    }

    /// Starts to send all that was written so far. Returns true if the server has it already; otherwise the request
    /// continues when it has.
    pub(super) fn drain(&mut self, now: Instant, ticket: Ticket, file: FileHandle) -> bool {
        self.wait_for_writes(now, ticket, false, file)
    }

    fn wait_for_writes(
        &mut self,
        now: Instant,
        ticket: Ticket,
        safe: bool,
        file: FileHandle,
    ) -> bool {
        let Some(node) = self.nodes.get_mut(&file) else {
            return true;
        };
        let content = &mut node.content;
        let done = if safe {
            content.ranges.is_clean()
        } else {
            content.ranges.is_drained()
        };
        if done && content.writers.is_empty() {
            return true;
        }
        if let Some(running) = self.requests.get_mut(&ticket) {
            running.stage = Stage::Parked;
        }
        content.sending.not_before = None;
        content.sending.refused = false;
        content.flushers.push(Flusher {
            ticket,
            before: content.ranges.next_sequence(),
            safe,
            errors: content.errors.count,
        });
        self.look_after(now, file);
        false
    }

    /// Does what a file's data need: answers waiting requests, commits, and lets more be sent and written.
    pub(super) fn look_after(&mut self, now: Instant, file: FileHandle) {
        self.end_flushers(now, file);
        self.commit(now, file);
        self.admit_writers(now, file);
        self.feed(now);
        self.serve_readers(now, file, None);
        self.enqueue(file);
    }

    /// Continues the requests whose data are where they should be.
    fn end_flushers(&mut self, now: Instant, file: FileHandle) {
        let content = &mut self.node(file).content;
        if content.flushers.is_empty() {
            return;
        }
        let ranges = &content.ranges;
        let refused = content.sending.refused;
        let error = content.errors.last;
        let errors = content.errors.count;
        let mut over = Vec::new();
        content.flushers.retain(|flusher| {
            let left = if flusher.safe {
                ranges.oldest()
            } else {
                ranges.oldest_unsent()
            };
            let done = left.is_none_or(|left| left >= flusher.before);
            let failed = errors > flusher.errors;
            // Truncation is permitted although the server refuses what was written to the file.
            let gives_up = !flusher.safe && refused && ranges.is_settled();
            if done || gives_up || (failed && flusher.safe) {
                over.push((*flusher, error.filter(|_| failed && flusher.safe)));
                return false;
            }
            true
        });
        for (flusher, error) in over {
            self.written(now, file, flusher.ticket, error);
        }
    }

    /// Continues a request whose data were written, or could not be written.
    fn written(&mut self, now: Instant, file: FileHandle, ticket: Ticket, error: Option<Error>) {
        let Some(running) = self.requests.get(&ticket) else {
            return;
        };
        match running.operation.clone() {
            Operation::SetAttributes { file, .. } => self.change_attributes(now, ticket, file),
            Operation::Create { .. } => {
                if let Some(found) = running.found {
                    self.cut(now, ticket, found);
                }
            }
            Operation::Rename { to, .. } => match error {
                Some(error) => self.end(ticket, Err(error)),
                None => self.replace(now, ticket, &to),
            },
            Operation::Sync => self.end_sync(ticket, error),
            Operation::Flush(open) => {
                if let Some(opening) = self.openings.open.get_mut(&open) {
                    let errors = self
                        .nodes
                        .get(&file)
                        .map_or(0, |node| node.content.errors.count);
                    opening.errors_told = errors;
                }
                self.end(ticket, error.map_or(Ok(Reply::Done), Err));
            }
            _ => {}
        }
    }

    /// Sends a COMMIT if a request needs one and the server has the data.
    fn commit(&mut self, now: Instant, file: FileHandle) {
        let enough = self.config.dirty_limit.get() / 2;
        let pressed = self.written.pressed;
        let node = self.node(file);
        // No `fsync` or `close` follows that would make the data safe.
        let is_closed = node.opens == 0;
        let content = &mut node.content;
        let ranges = &content.ranges;
        if content.sending.commit.is_some() || ranges.unstable() == 0 {
            return;
        }
        if content.sending.not_before.is_some_and(|when| now < when) {
            return;
        }
        let unsent = ranges.oldest_unsent();
        let ready = |flusher: &Flusher| {
            flusher.safe && unsent.is_none_or(|unsent| unsent >= flusher.before)
        };
        let wanted = content.flushers.iter().any(ready)
            || is_closed
            || pressed
            || ranges.unstable() > enough;
        let Some(caller) = content.sending.writer.clone().filter(|_| wanted) else {
            return;
        };
        content.ranges.commit();
        let commit = Commit {
            file,
            offset: 0,
            count: 0,
        };
        let call = request::encoded(&commit, 0);
        let number = self.call(now, caller, call, Purpose::Commit(file));
        let node = self.node(file);
        node.content.sending.commit = Some(number);
        node.change_began();
    }

    /// Processes the reply to a COMMIT.
    pub(super) fn was_committed(
        &mut self,
        now: Instant,
        file: FileHandle,
        told: &CallReply,
        wants_time: bool,
    ) {
        let calls = self.calls.made;
        let node = self.node(file);
        node.content.sending.commit = None;
        node.change_ended(told.call, calls);
        match told.done::<Commit>() {
            Ok(committed) => {
                self.note_own(now, told, file, &committed.file);
                let verifier = committed.verifier;
                let (safe, lost) = self.with_ranges(file, |ranges| ranges.committed(verifier));
                let content = &mut self.node(file).content;
                content.sending.mismatches = match lost {
                    0 => 0,
                    _ => content.sending.mismatches + 1,
                };
                for range in &safe {
                    content.extents.spoil(range);
                }
                if lost > 0 {
                    content.sending.dirty_since = Some(Instant::ZERO);
                    self.counters.written_again += lost as u64;
                }
            }
            Err(_) if wants_time => {
                let when = now + AGAIN_AFTER;
                self.node(file).content.sending.not_before = Some(when);
                self.alarms.set(when, Alarm::File(file));
            }
            Err(error) => self.write_refused(now, file, error),
        }
        self.look_after(now, file);
    }

    /// Holds a file's writers while a request changes its size.
    pub(super) fn hold_writers(&mut self, ticket: Ticket, file: FileHandle) {
        let barriers = &mut self.node(file).content.barriers;
        barriers.insert(ticket, SizeChange::Draining);
        if let Some(running) = self.requests.get_mut(&ticket) {
            running.barrier = Some(file);
        }
    }

    /// Holds everything while the call is in flight: data that become dirty again, as the server lost them, must wait
    /// too.
    pub(super) fn hold_all(&mut self, ticket: Ticket, file: FileHandle) {
        let barriers = &mut self.node(file).content.barriers;
        barriers.insert(ticket, SizeChange::Changing);
    }

    /// Ends the hold: writers continue.
    pub(super) fn lift_barrier(&mut self, now: Instant, file: FileHandle, ticket: Ticket) {
        self.node(file).content.barriers.remove(&ticket);
        self.look_after(now, file);
    }
}
