//! The received parts of the other end's streams and brief packets, until they can be released.

use std::collections::{BTreeMap, VecDeque};

use units::RangeSet;
use wire::hop::{RecordReader, expand};
use wire::packet::Packet;

use crate::receiver::{Refused, Room, StreamReceiver, longest_packet};
use crate::seen::SeenPackets;

/// Most bytes held above the first missing one, over all streams (`docs/hop-frame.md`, "Limits").
pub(crate) const HELD_MAX: u64 = 16 << 20;
/// Most streams open at once.
pub(crate) const STREAMS_MAX: usize = 4_096;
/// Most brief packets in reassembly.
const FRAGMENTED_MAX: usize = 64;
/// Most streams recorded between two releases; the others are released later.
const TOUCHED_MAX: usize = 8_192;

/// The receiving side of one end.
#[derive(Debug)]
pub(crate) struct Inbox {
    streams: BTreeMap<u64, StreamReceiver>,
    finished: RangeSet,
    held_bytes: u64,
    fragmented: VecDeque<(u64, StreamReceiver)>,
    seen: SeenPackets,
    /// Streams that may have whole segments of an unfinished packet.
    touched: Vec<u64>,
    /// Streams of which more can be released.
    waiting: VecDeque<u64>,
    /// Bytes of memory that all of them hold, and may hold.
    memory: usize,
    most: usize,
}

impl Inbox {
    /// Returns an empty receiving side, which may hold `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            streams: BTreeMap::new(),
            finished: RangeSet::default(),
            held_bytes: 0,
            fragmented: VecDeque::new(),
            seen: SeenPackets::default(),
            touched: Vec::new(),
            waiting: VecDeque::new(),
            memory: 0,
            most,
        }
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        let lists = (self.touched.capacity() + self.waiting.capacity()) * size_of::<u64>();
        let fragmented = self.fragmented.capacity() * size_of::<(u64, StreamReceiver)>();
        self.memory + self.finished.memory() + lists + fragmented
    }

    /// Returns the room for more. A third of the limit is reserved for packets that are being filled: without them
    /// nothing is released.
    fn room(&self) -> Room {
        Room {
            whole: self.most.saturating_sub(self.memory),
            parts: (self.most / 3 * 2).saturating_sub(self.memory),
        }
    }

    /// Returns true if one more stream or fragmented packet can begin, with the longest packet in it.
    fn has_room_for_one(&self) -> bool {
        self.memory + StreamReceiver::SIZE + longest_packet() <= self.most
    }

    /// Adds a chunk of a stream.
    pub(crate) fn stream(
        &mut self,
        flow: u64,
        offset: u32,
        bytes: &[u8],
        end: bool,
        deliver: &mut impl FnMut(Packet),
    ) -> Result<(), Refused> {
        if self.finished.contains(flow) {
            return Err(Refused::Repeated);
        }
        let has_room = self.streams.len() < STREAMS_MAX && self.has_room_for_one();
        if !has_room && !self.streams.contains_key(&flow) {
            return Err(Refused::Limit);
        }
        let room = self.room();
        let stream = self.streams.entry(flow).or_insert_with(|| {
            self.memory += StreamReceiver::SIZE;
            StreamReceiver::default()
        });
        let start = expand(offset, stream.read);
        let last = start + bytes.len() as u64;
        if start > stream.read && self.held_bytes + bytes.len() as u64 > HELD_MAX {
            return Err(Refused::Limit);
        }
        if end {
            stream.end = Some(last);
        }
        let before = (stream.held_bytes, stream.memory());
        let result = stream.receive(start, bytes, room, deliver);
        if stream.has_more() && !std::mem::replace(&mut stream.waits, true) {
            self.waiting.push_back(flow);
        }
        let is_inside = stream.is_inside();
        self.changed(flow, before);
        let noted = self.touched.last() == Some(&flow) || self.touched.len() >= TOUCHED_MAX;
        if result.is_ok() && is_inside && !noted {
            self.touched.push(flow);
        }
        result
    }

    /// Updates the totals for a stream that held `before`, and forgets it if it is over.
    fn changed(&mut self, flow: u64, before: (u64, usize)) {
        let Some(stream) = self.streams.get(&flow) else {
            return;
        };
        self.held_bytes = self.held_bytes + stream.held_bytes - before.0;
        self.memory = self.memory + stream.memory() - before.1;
        if stream.is_finished() || (stream.broken && stream.end.is_some()) {
            self.memory -= stream.memory();
            self.held_bytes -= stream.held_bytes;
            self.streams.remove(&flow);
            self.finished.insert(flow..flow + 1);
            // Numbers come in order and few streams are open, so the ranges of an honest end are fewer.
            self.finished.keep_highest(STREAMS_MAX + 1);
        }
    }

    /// Adds a brief packet or a fragment of one.
    pub(crate) fn brief(
        &mut self,
        packet: u32,
        offset: u16,
        bytes: &[u8],
        end: bool,
        deliver: &mut impl FnMut(Packet),
    ) -> Result<(), Refused> {
        let packet = expand(packet, self.seen.highest);
        if self.seen.contains(packet) {
            return Err(Refused::Repeated);
        }
        if offset == 0 && end {
            self.seen.insert(packet);
            return RecordReader::default()
                .read(bytes, deliver)
                .map_err(|_| Refused::Broken);
        }
        let place = self.place_of(packet).ok_or(Refused::Limit)?;
        let room = self.room();
        let (_, stream) = &mut self.fragmented[place];
        if end {
            stream.end = Some(u64::from(offset) + bytes.len() as u64);
        }
        let before = stream.memory();
        let result = stream.receive(u64::from(offset), bytes, room, deliver);
        self.memory = self.memory + stream.memory() - before;
        // A packet is shorter than the limit on one release.
        if stream.is_finished() || stream.broken {
            self.memory -= stream.memory();
            self.fragmented.remove(place);
            self.seen.insert(packet);
        }
        result
    }

    /// Returns the index of the fragments of a packet; `None` if there is no room for another one.
    fn place_of(&mut self, packet: u64) -> Option<usize> {
        let known = self
            .fragmented
            .iter()
            .position(|(number, _)| *number == packet);
        if known.is_some() {
            return known;
        }
        if self.fragmented.len() == FRAGMENTED_MAX
            && let Some((_, oldest)) = self.fragmented.pop_front()
        {
            self.memory -= oldest.memory();
        }
        if !self.has_room_for_one() {
            return None;
        }
        let stream = StreamReceiver::default();
        self.memory += stream.memory();
        self.fragmented.push_back((packet, stream));
        Some(self.fragmented.len() - 1)
    }

    /// Returns true if [`flush`](Self::flush) may have something to release.
    pub(crate) fn has_partial(&self) -> bool {
        !self.touched.is_empty() || !self.waiting.is_empty()
    }

    /// Releases more of the held data, and whole segments of long packets whose end has not come yet; returns true if
    /// there is more to release at once.
    pub(crate) fn flush(&mut self, deliver: &mut impl FnMut(Packet)) -> bool {
        let goes_on = self.release(deliver);
        let mut touched = std::mem::take(&mut self.touched);
        for flow in touched.drain(..) {
            let Some(stream) = self.streams.get_mut(&flow) else {
                continue;
            };
            let before = (stream.held_bytes, stream.memory());
            stream.flush(deliver);
            self.changed(flow, before);
        }
        self.touched = touched;
        goes_on
    }

    /// Releases more of the stream that has waited longest; returns true if there is more to release at once.
    fn release(&mut self, deliver: &mut impl FnMut(Packet)) -> bool {
        let Some(flow) = self.waiting.pop_front() else {
            return false;
        };
        let room = self.room();
        let Some(stream) = self.streams.get_mut(&flow) else {
            return !self.waiting.is_empty();
        };
        let before = (stream.held_bytes, stream.memory());
        let any = stream.release(room, deliver);
        stream.waits = stream.has_more();
        if stream.waits {
            self.waiting.push_back(flow);
        }
        self.changed(flow, before);
        any && !self.waiting.is_empty()
    }

    /// Returns the bytes held above the first missing one, over all streams.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
}
