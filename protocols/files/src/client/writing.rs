//! Delayed writes (write-behind).

use bytes::Bytes;
use nfs::{FileHandle, Stability, Status, Write};
use planted::Bug;
use rpc::Failure;
use std::ops::Range;
use units::Instant;

use super::ask::{CallReply, Purpose};
use super::request;
use super::{AGAIN_AFTER, Alarm, Client, REFUSED_AFTER};
use crate::config::BLOCK_MIN;
use crate::content::Ranges;
use crate::{Error, OpenFile, Operation, Reply, Ticket, Writes};

/// The end of the largest file.
const FILE_END_MAX: u64 = i64::MAX as u64;

/// Largest size of a WRITE's arguments beside the data, in bytes.
const HEADERS: usize = 128;

/// Number of COMMITs in a row that meet another instance of the server than their WRITEs did, after which each WRITE is
/// made stable by itself: that either succeeds or returns the reason.
const MISMATCHES_MAX: u32 = 3;

impl Client {
    pub(super) fn write(
        &mut self,
        now: Instant,
        ticket: Ticket,
        open: OpenFile,
        offset: u64,
        data: &[u8],
    ) {
        let Some(opening) = self.opening(ticket, open) else {
            return;
        };
        let file = opening.file;
        let ends = offset.checked_add(data.len() as u64);
        if ends.is_none_or(|end| end > FILE_END_MAX) {
            self.end(ticket, Err(Error::TooLarge));
            return;
        }
        let content = &mut self.node(file).content;
        content.sending.writer = Some(opening.caller);
        content.writers.push_back(ticket);
        if content.writers.len() == 1 {
            self.admit_writers(now, file);
        }
        if let Some(patience) = self
            .config
            .patience
            .filter(|_| self.requests.contains_key(&ticket))
        {
            self.alarms.set(now + patience, Alarm::Request(ticket));
        }
    }

    /// Ends the wait of a soft client's writer for room.
    pub(super) fn lose_patience(&mut self, now: Instant, ticket: Ticket) {
        let running = self.requests.get(&ticket);
        let Some(Operation::Write { open, .. }) = running.map(|running| &running.operation) else {
            return;
        };
        let file = self.openings.open.get(open).map(|opening| opening.file);
        let failure = Failure::Expired(self.config.patience.unwrap_or_default());
        let procedure = nfs::Procedure::Write;
        self.end(ticket, Err(Error::Failed { procedure, failure }));
        if let Some(file) = file {
            self.node(file).content.forget_request(ticket);
            self.admit_writers(now, file);
        }
    }

    /// Lets the writers of a file write, in their order, while there is room and nothing blocks them.
    pub(super) fn admit_writers(&mut self, now: Instant, file: FileHandle) {
        while let Some(&ticket) = self.node(file).content.writers.front() {
            let Some((open, offset, data)) = self.what_to_write(ticket) else {
                self.node(file).content.writers.pop_front();
                continue;
            };
            // An earlier write may have been refused while this one waited.
            if let Err(error) = self.untold_error(open) {
                self.node(file).content.writers.pop_front();
                self.end(ticket, Err(error));
                continue;
            }
            if self.written.kept > self.config.dirty_limit.get() {
                if !self.written.starved.contains(&file) {
                    self.written.starved.push_back(file);
                }
                self.press(now);
                return;
            }
            let range = offset..offset + data.len() as u64;
            let content = &mut self.node(file).content;
            if !content.barriers.is_empty() || content.ranges.is_in_flight(&range) {
                // The blocking data should be sent soon.
                self.enqueue(file);
                return;
            }
            content.writers.pop_front();
            content.extents.spoil(&range);
            let was_dirty = content.ranges.is_dirty();
            self.with_ranges(file, |ranges| ranges.write(offset, data));
            if !was_dirty {
                let due = now + self.config.write_after;
                self.node(file).content.sending.dirty_since = Some(now);
                self.alarms.set(due, Alarm::File(file));
            }
            self.end(ticket, Ok(Reply::Done));
            self.enqueue(file);
        }
    }

    fn what_to_write(&self, ticket: Ticket) -> Option<(OpenFile, u64, Bytes)> {
        match &self.requests.get(&ticket)?.operation {
            Operation::Write { open, offset, data } => Some((*open, *offset, data.clone())),
            _ => None,
        }
    }

    /// Changes a file's written data, and updates the totals.
    pub(super) fn with_ranges<T>(
        &mut self,
        file: FileHandle,
        change: impl FnOnce(&mut Ranges) -> T,
    ) -> T {
        let ranges = &mut self.node(file).content.ranges;
        let before = ranges.kept();
        let result = change(ranges);
        let after = ranges.kept();
        let is_clean = ranges.is_clean();
        self.written.kept = self.written.kept - before + after;
        if is_clean {
            self.written.unsafe_files.remove(&file);
        } else {
            self.written.unsafe_files.insert(file);
        }
        result
    }

    /// Starts to make all written data safe, because there are too many.
    fn press(&mut self, now: Instant) {
        if self.written.pressed {
            return;
        }
        self.written.pressed = true;
        for file in self.written.unsafe_files.clone() {
            self.look_after(now, file);
        }
    }

    /// Lets writers that wait for room try again.
    pub(super) fn feed(&mut self, now: Instant) {
        while self.written.kept <= self.config.dirty_limit.get() {
            let Some(file) = self.written.starved.pop_front() else {
                self.written.pressed = false;
                return;
            };
            self.admit_writers(now, file);
        }
    }

    /// Returns true if partial blocks are sent too.
    fn writes_all(&self, now: Instant, file: FileHandle) -> bool {
        let Some(node) = self.nodes.get(&file) else {
            return false;
        };
        let content = &node.content;
        let since = content.sending.dirty_since;
        self.written.pressed
            || !content.flushers.is_empty()
            || !content.writers.is_empty()
            || since.is_some_and(|since| now >= since + self.config.write_after)
    }

    /// Sends the first block to write; returns true if there was one.
    pub(super) fn send_write(&mut self, now: Instant, file: FileHandle) -> bool {
        let whole_only = !self.writes_all(now, file);
        let block = self.next_block(&self.blocks.write_size, self.server.write);
        let synchronous = self.config.writes == Writes::Synchronous;
        let content = &self.node(file).content;
        if content.is_changing() || content.sending.not_before.is_some_and(|when| now < when) {
            return false;
        }
        let Some(range) = content.ranges.next_dirty(block, whole_only) else {
            return false;
        };
        let Some(caller) = content.sending.writer.clone() else {
            return false;
        };
        let data = joined(content.ranges.dirty_data(&range), &range);
        // A small file that is flushed needs no COMMIT of its own.
        let lonely = !content.flushers.is_empty() && content.ranges.is_all(&range);
        let stability = if synchronous || lonely || content.sending.mismatches >= MISMATCHES_MAX {
            Stability::FileStable
        } else {
            Stability::Unstable
        };
        let write = Write {
            file,
            offset: range.start,
            stability,
            data: &data,
        };
        let call = request::encoded(&write, data.len() + HEADERS);
        let purpose = Purpose::Write(file, data.len(), stability);
        let number = self.call(now, caller, call, purpose);
        self.blocks.write_size.sent(data.len() as u32);
        self.with_ranges(file, |ranges| ranges.sent(range.start, data, number));
        let node = self.node(file);
        node.change_began();
        if !node.content.ranges.is_dirty() {
            node.content.sending.dirty_since = None;
        }
        self.blocks.window.sent();
        true
    }

    /// Processes the reply to a WRITE.
    pub(super) fn was_written(
        &mut self,
        now: Instant,
        (file, given, asked): (FileHandle, usize, Stability),
        told: &CallReply,
        wants_time: bool,
    ) {
        self.blocks.window.ended(told.pace());
        self.blocks.write_size.ended(given as u32, told.cost());
        let calls = self.calls.made;
        self.node(file).change_ended(told.call, calls);
        if let Err(error) = self.write_answered(now, file, given, asked, told) {
            self.with_ranges(file, |ranges| ranges.failed(told.call));
            if wants_time {
                self.write_again(now, file, now + AGAIN_AFTER);
            } else if error.wants_smaller() && given > BLOCK_MIN as usize {
                // Others of the same size may be in flight, and fail for the same reason.
                let smaller = (given as u32 / 2).next_multiple_of(BLOCK_MIN);
                self.server.write = self.server.write.min(smaller);
            } else {
                self.write_refused(now, file, error);
            }
        }
        self.look_after(now, file);
    }

    fn write_answered(
        &mut self,
        now: Instant,
        file: FileHandle,
        given: usize,
        asked: Stability,
        told: &CallReply,
    ) -> Result<(), Error> {
        let written = told.done::<Write<'_>>()?;
        written
            .check(given, asked)
            .map_err(|fault| told.implausible(fault))?;
        self.note_own(now, told, file, &written.file);
        let count = written.count as usize;
        self.counters.written_bytes += u64::from(written.count);
        let before = self
            .node(file)
            .content
            .sending
            .verifier
            .replace(written.verifier);
        if before.is_some_and(|before| before != written.verifier) {
            self.counters.restarts += 1;
        }
        let left = if planted::is(Bug::WrittenIsStable) {
            Stability::FileStable
        } else {
            written.stability
        };
        let safe = self.with_ranges(file, |ranges| {
            ranges.answered(told.call, count, left, written.verifier)
        });
        let content = &mut self.node(file).content;
        content.sending.not_before = None;
        content.sending.refused = false;
        if let Some(range) = safe {
            content.extents.spoil(&range);
        }
        Ok(())
    }

    fn write_again(&mut self, now: Instant, file: FileHandle, when: Instant) {
        let content = &mut self.node(file).content;
        content.sending.not_before = Some(when);
        content.sending.dirty_since = Some(now);
        self.alarms.set(when, Alarm::File(file));
    }

    /// Handles a refusal: the data are kept, the error is reported to every opening of the file, and data that are not
    /// lost for good are written again later.
    pub(super) fn write_refused(&mut self, now: Instant, file: FileHandle, error: Error) {
        let content = &mut self.node(file).content;
        content.errors.last = Some(error);
        content.errors.count += 1;
        let is_gone = matches!(error.status(), Some(Status::Stale | Status::BadHandle));
        let is_given_up = self.node(file).opens == 0 && !error.is_expired();
        if is_gone || is_given_up {
            self.discard(file);
        } else {
            // Data that are too late for a soft client are still wanted.
            self.node(file).content.sending.refused = !error.is_expired();
            self.write_again(now, file, now + REFUSED_AFTER);
        }
    }

    /// Drops written data that are not in flight.
    pub(super) fn discard(&mut self, file: FileHandle) {
        let lost = self.with_ranges(file, Ranges::discard);
        self.counters.lost_bytes += lost;
        let content = &mut self.node(file).content;
        content.sending.not_before = None;
        content.sending.refused = false;
    }

    /// Records that the file was truncated or extended to `size` at the server.
    pub(super) fn resize(&mut self, file: FileHandle, size: u64) {
        self.with_ranges(file, |ranges| ranges.cut(size));
        self.node(file).content.extents.spoil(&(0..u64::MAX));
    }
}

/// Joins the pieces of `range`.
fn joined(mut pieces: Vec<Bytes>, range: &Range<u64>) -> Bytes {
    if pieces.len() == 1 {
        return pieces.remove(0);
    }
    let mut whole = Vec::with_capacity((range.end - range.start) as usize);
    for piece in &pieces {
        whole.extend_from_slice(piece);
    }
    whole.into()
}
