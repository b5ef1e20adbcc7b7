//! Encoding of frames.

use super::{
    EcnCounts, FLAG_AFTER_LONG, FLAG_COUNTS, FLAG_END, FLAG_LENGTH, FLAG_OFFSET, FLAG_REPAIRED,
    FRAME_HEADER, KIND_ACK, KIND_BRIEF, KIND_PADDING, KIND_PROBE, KIND_STREAM, KIND_TRANSPORT,
    VERSION, varint,
};
use crate::packet::PacketBuffer;

/// The fields of an acknowledgement before its ranges; see [`super::AckRanges`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckFields {
    /// The highest number received.
    pub largest: u64,
    /// Arrival time of that transmission, in microseconds of the writer's clock, modulo 2³².
    pub arrival: u32,
    /// Delay since that arrival, in microseconds.
    pub delay: u64,
    /// Counts of congestion marks, if the acknowledgement is to carry them.
    pub counts: Option<EcnCounts>,
}

/// Encoder of one frame, chunk by chunk.
///
/// Before a chunk of content is appended, [`stream_room`](Self::stream_room), [`brief_room`](Self::brief_room) or
/// [`transport_room`](Self::transport_room) returns the room for it. Every chunk is written with its length field;
/// [`finish`](Self::finish) removes that of the last one.
#[derive(Debug)]
pub struct FrameWriter {
    buffer: PacketBuffer,
    room: usize,
    /// Positions of the last content chunk's length field and of its first byte.
    last: Option<(usize, usize)>,
    content: usize,
}

/// Size of the length field in each content chunk, in bytes.
const LENGTH: usize = 2;

impl FrameWriter {
    /// Begins the frame with transmission number `number` in `buffer`; it has at most `room` bytes in all.
    ///
    /// # Panics
    /// If `buffer` is not empty or has less tailroom than `room` plus two.
    pub fn new(buffer: PacketBuffer, number: u64, room: usize) -> Self {
        assert!(
            buffer.is_empty() && buffer.tailroom() >= room + LENGTH,
            "no room for a frame"
        );
        let mut writer = Self {
            buffer,
            room,
            last: None,
            content: 0,
        };
        writer.buffer.extend(&[VERSION << 4]);
        writer.buffer.extend(&(number as u32).to_be_bytes());
        writer
    }

    /// Returns the bytes left; the length field of the last chunk, which will be removed, counts as free.
    pub fn room(&self) -> usize {
        let reclaimed = if self.last.is_some() { LENGTH } else { 0 };
        (self.room + reclaimed).saturating_sub(self.buffer.len())
    }

    /// Returns true if only the header has been written.
    pub fn is_empty(&self) -> bool {
        self.buffer.len() == FRAME_HEADER
    }

    /// Returns the bytes of content written so far.
    pub fn content(&self) -> usize {
        self.content
    }

    /// Returns the room for the content of one more chunk after `fields` bytes of fields.
    ///
    /// A chunk before it keeps its length field; this chunk's own will be removed at the end.
    fn content_room(&self, fields: usize) -> usize {
        (self.room + LENGTH).saturating_sub(self.buffer.len() + 1 + fields + LENGTH)
    }

    /// Returns the number of bytes of the stream of `flow` that still fit; zero if not even the chunk's fields do.
    pub fn stream_room(&self, flow: u64) -> usize {
        self.content_room(varint::size(flow) + 4)
    }

    /// Appends a stream chunk with the first `length` bytes that `fill` writes.
    ///
    /// # Panics
    /// If `length` exceeds [`stream_room`](Self::stream_room).
    pub fn stream(
        &mut self,
        flow: u64,
        offset: u64,
        length: usize,
        end: bool,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let room = self.stream_room(flow);
        self.first_byte(KIND_STREAM, if end { FLAG_END } else { 0 });
        self.varint(flow);
        self.buffer.extend(&(offset as u32).to_be_bytes());
        self.content_bytes(length, room, fill);
    }

    /// Returns the number of bytes of a brief packet that still fit.
    pub fn brief_room(&self) -> usize {
        self.content_room(4 + 2)
    }

    /// Appends a brief chunk: `length` bytes from `offset` of the record of `packet`.
    ///
    /// # Panics
    /// If `length` exceeds [`brief_room`](Self::brief_room).
    pub fn brief(
        &mut self,
        (packet, offset): (u64, u16),
        (length, end, repaired): (usize, bool, bool),
        fill: impl FnOnce(&mut [u8]),
    ) {
        let fields = if offset > 0 { 4 + 2 } else { 4 };
        let room = self.content_room(fields);
        let flags = (if end { FLAG_END } else { 0 })
            | (if repaired { FLAG_REPAIRED } else { 0 })
            | (if offset > 0 { FLAG_OFFSET } else { 0 });
        self.first_byte(KIND_BRIEF, flags);
        self.buffer.extend(&(packet as u32).to_be_bytes());
        if offset > 0 {
            self.buffer.extend(&offset.to_be_bytes());
        }
        self.content_bytes(length, room, fill);
    }

    /// Returns the number of bytes of a packet of the split transport that still fit.
    pub fn transport_room(&self) -> usize {
        self.content_room(0)
    }

    /// Appends a packet of the split transport, `length` bytes that `fill` writes.
    ///
    /// # Panics
    /// If `length` exceeds [`transport_room`](Self::transport_room).
    pub fn transport(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) {
        let room = self.transport_room();
        self.first_byte(KIND_TRANSPORT, 0);
        self.content_bytes(length, room, fill);
    }

    /// Appends a probe; returns true if it fitted.
    pub fn probe(&mut self) -> bool {
        self.write_probe(0)
    }

    /// Appends a probe to the frame that follows a [`padded`](Self::pad) one; returns true if it fitted.
    pub fn probe_after_long(&mut self) -> bool {
        self.write_probe(FLAG_AFTER_LONG)
    }

    fn write_probe(&mut self, flags: u8) -> bool {
        let fits = self.room > self.buffer.len();
        if fits {
            self.buffer.extend(&[(KIND_PROBE << 4) | flags]);
            self.last = None;
        }
        fits
    }

    /// Fills the frame to its last byte with padding.
    pub fn pad(&mut self) {
        let padding = self.room.saturating_sub(self.buffer.len());
        if padding > 0 {
            self.buffer.extend(&[KIND_PADDING << 4]);
            self.buffer.grow(padding - 1).fill(0);
            self.last = None;
        }
    }

    /// Appends an acknowledgement with as many of `ranges` (`start..=end`, in descending order, disjoint, not adjacent)
    /// as fit in `budget` bytes and in the frame; returns true if at least the first did.
    ///
    /// # Panics
    /// If the first range does not end at the largest number.
    pub fn ack(
        &mut self,
        fields: AckFields,
        ranges: impl IntoIterator<Item = (u64, u64)>,
        budget: usize,
    ) -> bool {
        let mut ranges = ranges.into_iter();
        let Some((mut start, end)) = ranges.next() else {
            return false;
        };
        assert_eq!(
            end, fields.largest,
            "the first range ends at the largest number"
        );
        let first = end - start;
        let counts = fields.counts.map_or(0, |counts| {
            varint::size(counts.capable) + varint::size(counts.marked)
        });
        let fixed = 1 + 4 + 4 + varint::size(fields.delay) + varint::size(first) + counts + 1;
        if self.buffer.len() + fixed > self.room {
            return false;
        }
        let limit = self.room.min(self.buffer.len() + budget.max(fixed));
        let flags = fields.counts.map_or(0, |_| FLAG_COUNTS);
        self.buffer.extend(&[(KIND_ACK << 4) | flags]);
        self.buffer.extend(&(fields.largest as u32).to_be_bytes());
        self.buffer.extend(&fields.arrival.to_be_bytes());
        self.varint(fields.delay);
        self.varint(first);
        if let Some(counts) = fields.counts {
            self.varint(counts.capable);
            self.varint(counts.marked);
        }
        let count_at = self.buffer.len();
        self.buffer.extend(&[0]);
        for (next_start, next_end) in ranges.take(usize::from(u8::MAX)) {
            let (gap, run) = (start - next_end - 2, next_end - next_start);
            if self.buffer.len() + varint::size(gap) + varint::size(run) > limit {
                break;
            }
            self.varint(gap);
            self.varint(run);
            self.buffer[count_at] += 1;
            start = next_start;
        }
        self.last = None;
        true
    }

    /// Returns the finished frame.
    pub fn finish(mut self) -> PacketBuffer {
        if let Some((length_at, first_byte_at)) = self.last {
            self.buffer[first_byte_at] &= !FLAG_LENGTH;
            let end = self.buffer.len();
            self.buffer.copy_within(length_at + LENGTH..end, length_at);
            self.buffer.truncate(end - LENGTH);
        }
        self.buffer
    }

    fn first_byte(&mut self, kind: u8, flags: u8) {
        self.last = Some((0, self.buffer.len()));
        self.buffer.extend(&[(kind << 4) | flags]);
    }

    /// Writes length and content; a chunk that fills the frame completely needs no length.
    fn content_bytes(&mut self, length: usize, room: usize, fill: impl FnOnce(&mut [u8])) {
        assert!(
            length <= room,
            "a chunk of {length} bytes exceeds its room of {room}"
        );
        let Some((length_at, first_byte_at)) = &mut self.last else {
            return;
        };
        if length == room {
            self.last = None;
        } else {
            self.buffer[*first_byte_at] |= FLAG_LENGTH;
            *length_at = self.buffer.len();
            self.buffer.extend(&(length as u16).to_be_bytes());
        }
        fill(self.buffer.grow(length));
        self.content += length;
    }

    fn varint(&mut self, value: u64) {
        let mut field = [0; 8];
        let size = varint::write(value, &mut field);
        self.buffer.extend(&field[..size]);
    }
}
