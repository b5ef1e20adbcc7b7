//! Reads and read-ahead.

use bytes::{Bytes, BytesMut};
use nfs::{FileHandle, Read};
use std::ops::Range;
use units::Instant;

use super::ask::{CallReply, Purpose};
use super::request;
use super::{AGAIN_AFTER, Alarm, Client};
use crate::config::BLOCK_MIN;
use crate::node::Reader;
use crate::{Error, OpenFile, Reply, Ticket};

/// Largest distance, in bytes, from the end of the last read at which a read still counts as sequential: kernels
/// request several parts of a file at once, in any order.
const NEAR: u64 = 512 * 1_024;

/// Least distance of the read-ahead while blocks are small, and its largest, in bytes.
const AHEAD_MIN: u64 = 32 * 1_024;
const AHEAD_MAX: u64 = 8 * 1_024 * 1_024;

impl Client {
    pub(super) fn read(
        &mut self,
        now: Instant,
        ticket: Ticket,
        open: OpenFile,
        offset: u64,
        count: u32,
    ) {
        let Some(opening) = self.opening(ticket, open) else {
            return;
        };
        let file = opening.file;
        let ahead = self.ahead();
        let content = &mut self.node(file).content;
        content.ahead.reader = Some(opening.caller);
        let end = offset.saturating_add(u64::from(count));
        content.readers.push(Reader {
            ticket,
            offset,
            end,
        });
        let is_sequential = offset.abs_diff(content.ahead.read_to) <= NEAR;
        if !is_sequential && content.readers.len() == 1 {
            content.extents.forget();
        }
        content.ahead.read_to = if is_sequential {
            content.ahead.read_to.max(end)
        } else {
            end
        };
        content.ahead.distance = if is_sequential { ahead } else { 0 };
        self.serve_readers(now, file, None);
    }

    /// Returns the distance of the read-ahead, in bytes.
    fn ahead(&self) -> u64 {
        let window = self.blocks.window.limit() * u64::from(self.read_block());
        (window * 2).clamp(AHEAD_MIN, AHEAD_MAX)
    }

    /// Answers the reads whose data are present, and requests what is missing. If only `news` is new, looks only at
    /// reads of these bytes.
    pub(super) fn serve_readers(
        &mut self,
        now: Instant,
        file: FileHandle,
        news: Option<&Range<u64>>,
    ) {
        let readers = std::mem::take(&mut self.node(file).content.readers);
        if readers.is_empty() {
            return;
        }
        let mut waiting = Vec::new();
        for reader in readers {
            let concerns = news.is_none_or(|news| reader.wants(news));
            match concerns.then(|| self.data(now, file, reader)).flatten() {
                Some(data) => self.end(reader.ticket, Ok(Reply::Data(data))),
                None => waiting.push(reader),
            }
        }
        let content = &mut self.node(file).content;
        waiting.append(&mut content.readers);
        content.readers = waiting;
        // Data that a reader waits for are kept, however far others are ahead.
        let lowest = content.readers.iter().map(|reader| reader.offset).min();
        let passed = content.ahead.read_to.saturating_sub(NEAR);
        let passed = lowest.map_or(passed, |lowest| passed.min(lowest));
        content.extents.forget_before(passed);
        self.read_ahead(now, file);
        self.enqueue(file);
    }

    /// Returns the end of the file if it is known, data written here included.
    fn file_end(&self, now: Instant, file: FileHandle) -> Option<u64> {
        let node = self.nodes.get(&file)?;
        let attributes = node.fresh(now).map(|attributes| attributes.size);
        let end = node.content.extents.end().or(attributes)?;
        Some(end.max(node.content.ranges.end()))
    }

    /// Returns the data of a read if they are present; otherwise requests what is missing.
    fn data(&mut self, now: Instant, file: FileHandle, reader: Reader) -> Option<Vec<Bytes>> {
        let file_end = self.file_end(now, file);
        let block = self.read_block();
        let content = &mut self.node(file).content;
        let end = reader.end.min(file_end.unwrap_or(u64::MAX));
        let range = reader.offset..end;
        if range.is_empty() {
            return Some(Vec::new());
        }
        let (extents, ranges) = (&mut content.extents, &content.ranges);
        // Data written beyond the server's end of the file follow zeros.
        let server_end = extents.end().unwrap_or(u64::MAX).min(range.end);
        let pieces = if ranges.covers(&range) {
            None
        } else if server_end <= range.start {
            Some(Vec::new())
        } else {
            let wanted = range.start..server_end;
            let Some(pieces) = extents.data(&wanted) else {
                extents.want(&wanted, block);
                return None;
            };
            Some(pieces)
        };
        let pieces = match pieces {
            Some(pieces) if !ranges.touches(&range) && server_end == range.end => pieces,
            pieces => {
                let mut whole = BytesMut::with_capacity((range.end - range.start) as usize);
                pieces
                    .iter()
                    .flatten()
                    .for_each(|piece| whole.extend_from_slice(piece));
                whole.resize((range.end - range.start) as usize, 0);
                ranges.overlay(range.start, &mut whole);
                vec![whole.freeze()]
            }
        };
        Some(pieces)
    }

    /// Requests what sequential readers will want next.
    fn read_ahead(&mut self, now: Instant, file: FileHandle) {
        let file_end = self.file_end(now, file);
        let block = self.read_block();
        let content = &mut self.node(file).content;
        if content.ahead.distance == 0 {
            return;
        }
        let from = content.ahead.read_to;
        let end = from
            .saturating_add(content.ahead.distance)
            .min(file_end.unwrap_or(from));
        // Whole blocks, except the last of the file.
        let whole = if Some(end) == file_end {
            end
        } else {
            end - end % u64::from(block)
        };
        // A range that was requested once need not be checked again: if it became stale, its reader will request it.
        let known = (from..=whole).contains(&content.ahead.until);
        let start = if known { content.ahead.until } else { from };
        if start < whole && !content.ranges.touches(&(start..whole)) {
            content.extents.want(&(start..whole), block);
            content.ahead.until = whole;
        }
    }

    /// Sends a READ of the first block that is wanted; returns true if there was one.
    pub(super) fn send_read(&mut self, now: Instant, file: FileHandle) -> bool {
        let block = self.next_block(&self.blocks.read_size, self.server.read);
        let content = &mut self.node(file).content;
        let Some((offset, count)) = content.extents.next_wanted(block) else {
            return false;
        };
        let Some(caller) = content.ahead.reader.clone() else {
            return false;
        };
        let read = Read {
            file,
            offset,
            count,
        };
        let call = request::encoded(&read, 0);
        let number = self.call(now, caller, call, Purpose::Read(file, count));
        self.node(file).content.extents.asked(offset, number);
        self.blocks.read_size.sent(count);
        self.blocks.window.sent();
        true
    }

    /// Processes the reply to a READ.
    pub(super) fn was_read(
        &mut self,
        now: Instant,
        file: FileHandle,
        asked: u32,
        told: &CallReply,
        wants_time: bool,
    ) {
        self.blocks.window.ended(told.pace());
        self.blocks.read_size.ended(asked, told.cost());
        let read = self.take_in(now, file, asked, told);
        let news = read.as_ref().ok().cloned().flatten();
        if let Err(error) = read {
            let refused = self.node(file).content.extents.failed(told.call);
            if wants_time {
                self.alarms.set(now + AGAIN_AFTER, Alarm::File(file));
                self.enqueue(file);
                return;
            }
            if error.wants_smaller() && asked > BLOCK_MIN {
                // Others of the same size may be in flight, and fail for the same reason.
                let smaller = (asked / 2).next_multiple_of(BLOCK_MIN);
                self.server.read = self.server.read.min(smaller);
            } else if let Some(refused) = refused {
                self.fail_readers(file, &refused, error);
            }
        }
        self.serve_readers(now, file, news.as_ref());
        self.enqueue(file);
    }

    /// Stores the bytes that came. Returns their range if nothing else was learned, an empty one if the readers must
    /// try again later.
    fn take_in(
        &mut self,
        now: Instant,
        file: FileHandle,
        asked: u32,
        told: &CallReply,
    ) -> Result<Option<Range<u64>>, Error> {
        let read = told.done::<Read>()?;
        read.check(asked).map_err(|fault| told.implausible(fault))?;
        self.note(now, told, file, read.attributes)?;
        let data = told.slice(read.data);
        self.counters.read_bytes += data.len() as u64;
        let node = self.node(file);
        // Writes in flight may have moved the end of the file since the call.
        let end_of_file = read.end_of_file && node.is_newest(told.call);
        let is_in_vain = read.end_of_file && !end_of_file && data.is_empty();
        let news = node.content.extents.fetched(told.call, data, end_of_file);
        if is_in_vain {
            // At once the answer would be the same: the change is still in flight.
            self.alarms.set(now + AGAIN_AFTER, Alarm::File(file));
            return Ok(Some(0..0));
        }
        Ok(news)
    }

    /// Ends the reads of bytes in `range` with an error.
    fn fail_readers(&mut self, file: FileHandle, range: &Range<u64>, error: Error) {
        let content = &mut self.node(file).content;
        let hit = |reader: &Reader| reader.wants(range);
        let (failed, others) = content.readers.drain(..).partition::<Vec<_>, _>(hit);
        content.readers = others;
        content.ahead.distance = 0;
        for reader in failed {
            self.end(reader.ticket, Err(error));
        }
    }
}
