//! The receiving end of one stream, or of one packet in fragments.

use std::collections::VecDeque;

use planted::Bug;
use wire::hop::{PACKET_MAX, RecordReader};
use wire::packet::{Packet, PacketBuffer};

use crate::limits::PART;
use crate::report::Delivered;
use crate::turn::Turn;

/// Returns the bytes of a buffer for the longest packet.
pub(crate) fn longest_packet() -> usize {
    PacketBuffer::capacity_of_copy(PACKET_MAX)
}

/// Number of parts that may be held however short they are, and bytes held for each further part: the time to insert
/// a part grows with their number.
const PARTS: usize = 1_024;
const PART_BYTES: u64 = 256;
/// Capacity for parts that is kept when none is left.
const PARTS_KEPT: usize = 1_024;

/// Reason why a chunk was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It was received before.
    Repeated,
    /// It exceeds a limit.
    Limit,
    /// Its stream or packet cannot be read.
    Broken,
}

/// Room for more data, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Room in all.
    pub(crate) whole: usize,
    /// Room for parts that wait for others.
    pub(crate) parts: usize,
}

/// The receiving end of one stream, or of one fragmented packet.
#[derive(Debug, Default)]
pub(crate) struct StreamReceiver {
    reader: RecordReader,
    /// Offset below which everything has been read.
    pub(crate) read: u64,
    /// Later parts, sorted, disjoint but for overlaps at their ends.
    held: VecDeque<(u64, PacketBuffer)>,
    /// Bytes of those parts, and of their buffers.
    pub(crate) held_bytes: u64,
    storage: usize,
    pub(crate) end: Option<u64>,
    pub(crate) broken: bool,
    /// True if more of it will be released, see [`Self::has_more`].
    pub(crate) waits: bool,
}

impl StreamReceiver {
    /// Bytes that one takes, its place in a tree included.
    pub(crate) const SIZE: usize = 2 * size_of::<Self>() + crate::limits::NODE;

    /// Returns the bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        let slots = self.held.capacity() * size_of::<(u64, PacketBuffer)>();
        Self::SIZE + slots + self.held.len() * PART + self.storage + self.reader.memory()
    }

    /// Adds `bytes` from `start` on and releases packets that this completes, as many as the turn allows.
    pub(crate) fn receive(
        &mut self,
        start: u64,
        bytes: &[u8],
        room: Room,
        turn: &mut Turn,
        deliver: &mut impl FnMut(Packet),
    ) -> Result<(), Refused> {
        if self.broken {
            return Err(Refused::Broken);
        }
        let end = start + bytes.len() as u64;
        if end <= self.read && !(bytes.is_empty() && self.end.is_some()) {
            return Err(Refused::Repeated);
        }
        if start > self.read {
            return self.hold(start, bytes, room.parts);
        }
        // Without room for another packet, the one that is being filled can still be completed, which makes room.
        let known = (self.read - start) as usize;
        let missing = self.reader.missing();
        let fits = self.has_room(room) || bytes.len().saturating_sub(known) <= missing;
        let most = if fits { bytes.len() } else { known + missing };
        let news = bytes.get(known..most).unwrap_or_default();
        let rest = &news[self.read_on(news, turn, deliver)..];
        if self.broken {
            return Err(Refused::Broken);
        }
        if !fits {
            return Err(Refused::Limit);
        }
        if !rest.is_empty() {
            return self.hold(self.read, rest, room.parts);
        }
        self.release(room, turn, deliver);
        Ok(())
    }

    /// Returns true if the longest packet may begin after the one that is being filled.
    fn has_room(&self, room: Room) -> bool {
        room.whole + self.reader.memory() >= longest_packet()
    }

    /// Releases held data with nothing missing before it, as much as the turn allows; returns true if there was any.
    pub(crate) fn release(
        &mut self,
        room: Room,
        turn: &mut Turn,
        deliver: &mut impl FnMut(Packet),
    ) -> bool {
        let had_room = self.has_room(room);
        let mut any = false;
        while had_room && !turn.is_over() && self.has_more() {
            if let Some((start, mut part)) = self.held.pop_front() {
                any = true;
                self.held_bytes -= part.len() as u64;
                self.storage -= part.capacity();
                let known = ((self.read - start) as usize).min(part.len());
                let used = known + self.read_on(&part[known..], turn, deliver);
                if used < part.len() && !self.broken {
                    part.advance(used);
                    self.held_bytes += part.len() as u64;
                    self.storage += part.capacity();
                    self.held.push_front((self.read, part));
                }
            }
        }
        if self.held.is_empty() && self.held.capacity() > PARTS_KEPT {
            self.held = VecDeque::new();
        }
        any
    }

    /// Releases all that has nothing missing before it, whatever the turn allows.
    pub(crate) fn release_all(&mut self, deliver: &mut impl FnMut(Packet)) {
        let room = Room {
            whole: usize::MAX / 2,
            parts: 0,
        };
        while self.has_more() {
            self.release(room, &mut Turn::new(None), deliver);
        }
        self.waits = false;
    }

    /// Returns what has been delivered. Of a stream that cannot be read no more is wanted.
    pub(crate) fn delivered(&self) -> Delivered {
        let held = self.held.back().filter(|_| planted::is(Bug::GapIsReported));
        let read = held.map_or(self.read, |(start, part)| start + part.len() as u64);
        Delivered {
            read: if self.broken { u64::MAX } else { read },
            ahead: self.reader.released() as u32,
        }
    }

    /// Returns true if held data has nothing missing before it.
    pub(crate) fn has_more(&self) -> bool {
        let first = self.held.front();
        first.is_some_and(|(start, _)| *start <= self.read)
    }

    /// Reads the next bytes, and releases packets that they complete until the turn is over; returns the number of
    /// bytes read.
    fn read_on(&mut self, news: &[u8], turn: &mut Turn, deliver: &mut impl FnMut(Packet)) -> usize {
        if news.is_empty() || turn.is_over() {
            return 0;
        }
        let mut goes_on = |packet: Packet| {
            turn.take(&packet);
            deliver(packet);
            !turn.is_over()
        };
        let Ok(used) = self.reader.read_while(news, &mut goes_on) else {
            self.broken = true;
            self.reader = RecordReader::default();
            self.held = VecDeque::new();
            self.held_bytes = 0;
            self.storage = 0;
            return news.len();
        };
        self.read += used as u64;
        used
    }

    fn hold(&mut self, start: u64, bytes: &[u8], room: usize) -> Result<(), Refused> {
        let place = self.held.partition_point(|(held, _)| *held < start);
        let end = |part: &(u64, PacketBuffer)| part.0 + part.1.len() as u64;
        let covered_before = place > 0 && end(&self.held[place - 1]) >= start + bytes.len() as u64;
        let same = self
            .held
            .get(place)
            .is_some_and(|part| part.0 == start && end(part) >= start + bytes.len() as u64);
        if covered_before || same {
            return Err(Refused::Repeated);
        }
        let many = self.held.len() as u64 >= PARTS as u64 + self.held_bytes / PART_BYTES;
        let slots = if self.held.len() == self.held.capacity() {
            self.held.capacity().max(4) * size_of::<(u64, PacketBuffer)>()
        } else {
            0
        };
        let cost = PacketBuffer::capacity_of_copy(bytes.len()) + PART + slots;
        if many || cost > room {
            return Err(Refused::Limit);
        }
        let part = PacketBuffer::copy_of(bytes);
        self.held_bytes += bytes.len() as u64;
        self.storage += part.capacity();
        self.held.insert(place, (start, part));
        Ok(())
    }

    /// Releases whole segments of a long packet whose end has not come yet.
    pub(crate) fn flush(&mut self, turn: &mut Turn, deliver: &mut impl FnMut(Packet)) {
        self.reader.flush(&mut |packet| {
            turn.take(&packet);
            deliver(packet);
        });
    }

    /// Returns true if the data that has been read ends inside a record.
    pub(crate) fn is_inside(&self) -> bool {
        self.reader.end().is_err()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.read >= end)
    }
}
