//! A held flow as a stream of bytes: the sending end.

use std::collections::VecDeque;
use std::ops::Range;

use units::RangeSet;
use wire::hop::{RecordHead, RecordWriter};
use wire::packet::Packet;

use crate::held::HeldData;

/// One packet in the stream.
#[derive(Debug)]
struct Record {
    start: u64,
    head: RecordHead,
    packet: Packet,
}

impl Record {
    fn body(&self) -> &[u8] {
        &self.packet[self.head.skip()..]
    }

    fn end(&self) -> u64 {
        self.start + (self.head.as_bytes().len() + self.body().len()) as u64
    }
}

/// What a stream holds, in bytes but for the first.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamMemory {
    /// How many packets.
    pub(crate) packets: usize,
    /// Their buffers.
    pub(crate) storage: usize,
    /// The queue that they stand in.
    pub(crate) slots: usize,
    /// Itself, and what is noted of ranges.
    pub(crate) tables: usize,
}

/// The part of a flow's stream that the other end has not confirmed yet.
#[derive(Debug, Default)]
pub(crate) struct StreamSender {
    pub(crate) number: u64,
    writer: RecordWriter,
    records: VecDeque<Record>,
    /// What their buffers take.
    storage: usize,
    /// Everything below is confirmed.
    confirmed: u64,
    /// Everything below has been sent at least once.
    sent: u64,
    /// Where the next record goes.
    end: u64,
    /// Confirmed ranges above `confirmed`.
    islands: RangeSet,
    lost: RangeSet,
    /// Presumed to be lost, since nothing was heard: a hop that only delays has it still.
    doubted: RangeSet,
    /// Which data of its connection wait for the stream or in it, if it is one of TCP.
    pub(crate) held: HeldData,
}

impl StreamSender {
    /// An empty stream of this number.
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    /// Appends a packet.
    pub(crate) fn push(&mut self, packet: Packet) {
        let head = self.writer.write(&packet);
        let record = Record {
            start: self.end,
            head,
            packet,
        };
        self.end = record.end();
        self.storage += record.packet.capacity();
        self.records.push_back(record);
    }

    /// What it holds.
    pub(crate) fn memory(&self) -> StreamMemory {
        let noted = self.islands.memory() + self.lost.memory() + self.doubted.memory();
        StreamMemory {
            packets: self.records.len(),
            storage: self.storage,
            slots: self.records.capacity() * size_of::<Record>(),
            tables: size_of::<Self>() + noted + self.held.memory(),
        }
    }

    /// Gives back the room of queues that have been longer.
    pub(crate) fn shrink(&mut self) {
        self.records.shrink_to_fit();
        self.islands.shrink();
        self.lost.shrink();
        self.doubted.shrink();
        self.held.shrink();
    }

    /// The next range to send, at most `room` bytes: what is lost, then what is doubted, unless `fresh` bytes go before
    /// that, and then bytes that were never sent.
    pub(crate) fn next_range(&self, room: usize, fresh: bool) -> Range<u64> {
        let unsent = self.sent..self.end;
        let doubted = || {
            let last = fresh && !unsent.is_empty();
            self.doubted.first().filter(|_| !last)
        };
        let wanted = self.lost.first().or_else(doubted).unwrap_or(unsent.clone());
        wanted.start..wanted.end.min(wanted.start + room as u64)
    }

    /// Whether there is something to send.
    pub(crate) fn has_work(&self) -> bool {
        self.sent < self.end || self.has_repairs(false)
    }

    /// Whether something waits to be sent again; what is only doubted does not where `fresh` bytes go before it.
    pub(crate) fn has_repairs(&self, fresh: bool) -> bool {
        !self.lost.is_empty() || (!fresh && !self.doubted.is_empty())
    }

    /// Whether the first of `range` has been sent before.
    pub(crate) fn has_sent(&self, range: &Range<u64>) -> bool {
        range.start < self.sent
    }

    /// Bytes appended and not yet sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.end - self.sent
    }

    /// Bytes between the first unconfirmed one and the highest sent: what the receiver may hold.
    pub(crate) fn span(&self) -> u64 {
        self.sent - self.confirmed
    }

    /// Whether everything is confirmed.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed == self.end
    }

    /// Whether the other end has all of `range`.
    pub(crate) fn has_confirmed(&self, range: &Range<u64>) -> bool {
        range.end <= self.confirmed || self.islands.covers(range)
    }

    /// Where the stream ends.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Copies `range` into `out` and notes that it is on its way.
    pub(crate) fn send(&mut self, range: &Range<u64>, out: &mut [u8]) {
        self.lost.remove(range);
        self.doubted.remove(range);
        self.sent = self.sent.max(range.end);
        let mut place = range.start;
        let mut out = out;
        let first = self.records.partition_point(|record| record.end() <= place);
        for record in self.records.range(first..) {
            let within = (place - record.start) as usize;
            let head = record.head.as_bytes();
            let mut copy = |from: &[u8]| {
                let count = from.len().min(out.len());
                let (now, later) = std::mem::take(&mut out).split_at_mut(count);
                now.copy_from_slice(&from[..count]);
                out = later;
            };
            copy(head.get(within..).unwrap_or_default());
            copy(&record.body()[within.saturating_sub(head.len())..]);
            place = record.end();
            if out.is_empty() {
                return;
            }
        }
    }

    /// The other end has `range`; returns how many bytes of it are news.
    pub(crate) fn confirm(&mut self, range: Range<u64>) -> u64 {
        let start = range.start.max(self.confirmed);
        let news = self.islands.insert(start..range.end.max(start));
        if news > 0 {
            self.lost.remove(&range);
            self.doubted.remove(&range);
        }
        if let Some(first) = self
            .islands
            .first()
            .filter(|first| first.start <= self.confirmed)
        {
            self.confirmed = first.end;
            self.islands.remove(&first);
            while self
                .records
                .front()
                .is_some_and(|record| record.end() <= self.confirmed)
            {
                if let Some(gone) = self.records.pop_front() {
                    self.storage -= gone.packet.capacity();
                    self.held.release(&gone.packet);
                }
            }
        }
        news
    }

    /// `range` did not arrive: what of it is not confirmed is due again.
    pub(crate) fn lose(&mut self, range: Range<u64>) {
        self.doubted.remove(&range);
        let start = range.start.max(self.confirmed);
        self.lost
            .insert_except(start..range.end.max(start), &self.islands);
    }

    /// `range` is presumed not to arrive.
    pub(crate) fn doubt(&mut self, range: Range<u64>) {
        let start = range.start.max(self.confirmed);
        self.doubted
            .insert_except(start..range.end.max(start), &self.islands);
    }

    /// `range` had been presumed not to arrive, and did not: what has not been sent again since is due.
    pub(crate) fn lose_doubted(&mut self, range: &Range<u64>) {
        while let Some(part) = self.doubted.first_within(range) {
            self.lose(part);
        }
    }
}
