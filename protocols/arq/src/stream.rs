//! The sending end of a held flow's stream of bytes.

use std::collections::VecDeque;
use std::ops::Range;

use units::RangeSet;
use wire::hop::{RecordHead, RecordWriter};
use wire::packet::Packet;

use crate::held::HeldData;
use crate::report::Delivered;

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

/// Memory of a stream, in bytes except for the first field.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamMemory {
    /// Number of packets.
    pub(crate) packets: usize,
    /// Bytes of their buffers.
    pub(crate) storage: usize,
    /// Bytes of their queue.
    pub(crate) slots: usize,
    /// Bytes of the stream itself and the records of ranges.
    pub(crate) tables: usize,
}

/// The part of a flow's stream that is not confirmed yet.
#[derive(Debug, Default)]
pub(crate) struct StreamSender {
    pub(crate) number: u64,
    writer: RecordWriter,
    records: VecDeque<Record>,
    /// Bytes of their buffers.
    storage: usize,
    /// Offset below which everything is confirmed.
    confirmed: u64,
    /// Offset below which everything has been sent at least once.
    sent: u64,
    /// Offset of the next record.
    end: u64,
    /// Confirmed ranges above `confirmed`.
    islands: RangeSet,
    lost: RangeSet,
    /// Ranges presumed lost at a timeout: a hop that only delays still has them.
    doubted: RangeSet,
    /// Data of its TCP connection that wait for the stream or in it.
    pub(crate) held: HeldData,
}

impl StreamSender {
    /// Returns an empty stream of this number.
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

    /// Returns its memory.
    pub(crate) fn memory(&self) -> StreamMemory {
        let noted = self.islands.memory() + self.lost.memory() + self.doubted.memory();
        StreamMemory {
            packets: self.records.len(),
            storage: self.storage,
            slots: self.records.capacity() * size_of::<Record>(),
            tables: size_of::<Self>() + noted + self.held.memory(),
        }
    }

    /// Frees the memory of queues that have been longer.
    pub(crate) fn shrink(&mut self) {
        self.records.shrink_to_fit();
        self.islands.shrink();
        self.lost.shrink();
        self.doubted.shrink();
        self.held.shrink();
    }

    /// Returns the next range to send, at most `room` bytes: lost ranges, then doubted ones, then bytes that were
    /// never sent; `fresh` puts doubted ranges last.
    pub(crate) fn next_range(&self, room: usize, fresh: bool) -> Range<u64> {
        let unsent = self.sent..self.end;
        let doubted = || {
            let last = fresh && !unsent.is_empty();
            self.doubted.first().filter(|_| !last)
        };
        let wanted = self.lost.first().or_else(doubted).unwrap_or(unsent.clone());
        wanted.start..wanted.end.min(wanted.start + room as u64)
    }

    /// Returns true if there is something to send.
    pub(crate) fn has_work(&self) -> bool {
        self.sent < self.end || self.has_repairs(false)
    }

    /// Returns true if a range waits for retransmission; with `fresh`, doubted ranges do not count.
    pub(crate) fn has_repairs(&self, fresh: bool) -> bool {
        !self.lost.is_empty() || (!fresh && !self.doubted.is_empty())
    }

    /// Returns true if the first byte of `range` has been sent before.
    pub(crate) fn has_sent(&self, range: &Range<u64>) -> bool {
        range.start < self.sent
    }

    /// Returns the bytes appended and not yet sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.end - self.sent
    }

    /// Returns the bytes between the first unconfirmed one and the highest sent, which the receiver may hold.
    pub(crate) fn span(&self) -> u64 {
        self.sent - self.confirmed
    }

    /// Returns true if everything is confirmed.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed == self.end
    }

    /// Returns true if the other end has all of `range`.
    pub(crate) fn has_confirmed(&self, range: &Range<u64>) -> bool {
        range.end <= self.confirmed || self.islands.covers(range)
    }

    /// Returns the offset of the stream's end.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Copies `range` into `out` and records that it is in flight.
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

    /// Records that the other end has `range`; returns the number of bytes newly confirmed.
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

    /// Records that `range` did not arrive: the parts that are not confirmed are due for retransmission.
    pub(crate) fn lose(&mut self, range: Range<u64>) {
        self.doubted.remove(&range);
        let start = range.start.max(self.confirmed);
        self.lost
            .insert_except(start..range.end.max(start), &self.islands);
    }

    /// Records that `range` is presumed lost.
    pub(crate) fn doubt(&mut self, range: Range<u64>) {
        let start = range.start.max(self.confirmed);
        self.doubted
            .insert_except(start..range.end.max(start), &self.islands);
    }

    /// Returns true if this end still has everything from this offset on.
    pub(crate) fn has_all_from(&self, offset: u64) -> bool {
        let first = self.records.front().map_or(self.end, |record| record.start);
        offset >= first
    }

    /// Returns the packets that are not delivered; of the first one, what is left of it.
    pub(crate) fn withdraw(mut self, delivered: Delivered) -> Vec<Packet> {
        self.records.retain(|record| record.end() > delivered.read);
        let mut packets: Vec<_> = self
            .records
            .into_iter()
            .map(|record| record.packet)
            .collect();
        if let Some(begun) = packets.first_mut() {
            let left = begun.len().saturating_sub(delivered.ahead as usize);
            while begun.len() > left && begun.drop_first_segment() {}
        }
        packets
    }

    /// Records that `range`, presumed lost before, was lost: the parts not sent again since are due for
    /// retransmission.
    pub(crate) fn lose_doubted(&mut self, range: &Range<u64>) {
        while let Some(part) = self.doubted.first_within(range) {
            self.lose(part);
        }
    }
}
