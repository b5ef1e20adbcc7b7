//! The received parts of the other end's streams and brief packets, until they can be released.

use std::collections::{BTreeMap, VecDeque};

use units::{Instant, RangeSet};
use wire::hop::{RecordReader, expand};
use wire::packet::{Packet, PacketBuffer};

use crate::limits::PART;
use crate::receiver::{Refused, Room, StreamReceiver, longest_packet};
use crate::report::Report;
use crate::seen::SeenPackets;
use crate::turn::Turn;

/// Most bytes held above the first missing one, over all streams (`docs/hop-frame.md`, "Limits").
pub(crate) const HELD_MAX: u64 = 16 << 20;
/// Most streams open at once.
pub(crate) const STREAMS_MAX: usize = 4_096;
/// Most brief packets in reassembly.
const FRAGMENTED_MAX: usize = 64;
/// Most whole brief packets that wait for their release.
const READY_MAX: usize = 512;
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
    /// Brief packets that wait for the next turn.
    ready: VecDeque<Packet>,
    turn: Turn,
    /// Streams that may have whole segments of an unfinished packet.
    touched: VecDeque<u64>,
    /// Streams of which more can be released.
    waiting: VecDeque<u64>,
    /// Bytes of memory that all of them hold, and may hold.
    memory: usize,
    most: usize,
}

impl Inbox {
    /// Returns an empty receiving side, which may hold `most` bytes and release so many packets a second.
    pub(crate) fn new(most: usize, packets_per_second: Option<u32>) -> Self {
        Self {
            streams: BTreeMap::new(),
            finished: RangeSet::default(),
            held_bytes: 0,
            fragmented: VecDeque::new(),
            seen: SeenPackets::default(),
            ready: VecDeque::new(),
            turn: Turn::new(packets_per_second),
            touched: VecDeque::new(),
            waiting: VecDeque::new(),
            memory: 0,
            most,
        }
    }

    /// Sets the limit on its memory.
    pub(crate) fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        let lists = (self.touched.capacity() + self.waiting.capacity()) * size_of::<u64>();
        let fragmented = self.fragmented.capacity() * size_of::<(u64, StreamReceiver)>();
        let ready = self.ready.capacity() * size_of::<Packet>();
        self.memory + self.finished.memory() + lists + fragmented + ready
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

    /// Makes room for one more stream or fragmented packet; returns false if there is none.
    ///
    /// Parts of brief packets whose others are lost would take it for ever: nobody may repeat these.
    fn make_room(&mut self) -> bool {
        while !self.has_room_for_one() {
            if !self.drop_fragments() {
                return false;
            }
        }
        true
    }

    /// Drops the fragments of the packet that began first; returns false if there are none.
    fn drop_fragments(&mut self) -> bool {
        let oldest = self.fragmented.pop_front();
        self.memory -= oldest.as_ref().map_or(0, |(_, oldest)| oldest.memory());
        oldest.is_some()
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
        let is_new = !self.streams.contains_key(&flow);
        if is_new && (self.streams.len() >= STREAMS_MAX || !self.make_room()) {
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
        let result = stream.receive(start, bytes, room, &mut self.turn, deliver);
        if stream.has_more() && !std::mem::replace(&mut stream.waits, true) {
            self.waiting.push_back(flow);
        }
        let is_inside = stream.is_inside();
        self.changed(flow, before);
        let noted = self.touched.back() == Some(&flow) || self.touched.len() >= TOUCHED_MAX;
        if result.is_ok() && is_inside && !noted {
            self.touched.push_back(flow);
        }
        if result == Err(Refused::Limit) {
            // The chunk comes again.
            self.drop_fragments();
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
        if self.brief_waits() && !self.has_room_for_ready(bytes.len()) {
            return Err(Refused::Limit);
        }
        if offset == 0 && end {
            self.seen.insert(packet);
            let mut whole = None;
            let mut keep = |packet| {
                whole = Some(packet);
                false
            };
            let used = RecordReader::default().read_while(bytes, &mut keep);
            let is_one = used == Ok(bytes.len());
            let packet = whole.filter(|_| is_one).ok_or(Refused::Broken)?;
            self.release_brief(packet, deliver);
            return Ok(());
        }
        let place = self.place_of(packet).ok_or(Refused::Limit)?;
        let room = self.room();
        let (_, stream) = &mut self.fragmented[place];
        if end {
            stream.end = Some(u64::from(offset) + bytes.len() as u64);
        }
        let before = stream.memory();
        let mut whole = None;
        let mut keep = |packet| whole = Some(packet);
        let turn = &mut Turn::of_one();
        let result = stream.receive(u64::from(offset), bytes, room, turn, &mut keep);
        self.memory = self.memory + stream.memory() - before;
        // There is one packet and nothing behind it.
        if stream.is_finished() || stream.broken || whole.is_some() {
            self.memory -= stream.memory();
            self.fragmented.remove(place);
            self.seen.insert(packet);
        }
        if let Some(packet) = whole {
            self.release_brief(packet, deliver);
        }
        result
    }

    fn has_room_for_ready(&self, length: usize) -> bool {
        let cost = PacketBuffer::capacity_of_copy(length) + PART;
        self.ready.len() < READY_MAX && cost <= self.room().parts
    }

    /// Returns true if a brief packet that comes now waits: for its turn, or behind others.
    fn brief_waits(&self) -> bool {
        self.turn.is_over() || !self.ready.is_empty()
    }

    /// Releases a brief packet now, or later in the order of arrival.
    fn release_brief(&mut self, packet: Packet, deliver: &mut impl FnMut(Packet)) {
        if self.brief_waits() {
            self.memory += packet.capacity() + PART;
            self.ready.push_back(packet);
        } else {
            self.turn.take(&packet);
            deliver(packet);
        }
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
        if self.fragmented.len() == FRAGMENTED_MAX {
            self.drop_fragments();
        }
        if !self.make_room() {
            return None;
        }
        let stream = StreamReceiver::default();
        self.memory += stream.memory();
        self.fragmented.push_back((packet, stream));
        Some(self.fragmented.len() - 1)
    }

    /// Returns the time when [`flush`](Self::flush) may release something, unless it lacks room.
    pub(crate) fn flush_at(&self, now: Instant) -> Option<Instant> {
        let is_empty = self.touched.is_empty() && self.waiting.is_empty() && self.ready.is_empty();
        (!is_empty).then(|| self.turn.free_at(now))
    }

    /// Begins the next turn, if it is time.
    pub(crate) fn pass_turn(&mut self, now: Instant) {
        self.turn.pass(now);
    }

    /// Leaves only a few packets in the current turn, if packets are limited.
    pub(crate) fn shorten_turn(&mut self, now: Instant) {
        self.turn.shorten(now);
    }

    /// Releases more packets that wait, and whole segments of long packets whose end has not come yet, as many as the
    /// turn allows. Returns true if more can be released in the next turn; what waits otherwise has no room for its
    /// next packet.
    pub(crate) fn flush(&mut self, deliver: &mut impl FnMut(Packet)) -> bool {
        while !self.turn.is_over()
            && let Some(packet) = self.ready.pop_front()
        {
            self.memory -= packet.capacity() + PART;
            self.turn.take(&packet);
            deliver(packet);
        }
        for _ in 0..self.waiting.len() {
            if self.turn.is_over() {
                break;
            }
            self.release(deliver);
        }
        while !self.turn.is_over()
            && let Some(flow) = self.touched.pop_front()
        {
            let Some(stream) = self.streams.get_mut(&flow) else {
                continue;
            };
            let before = (stream.held_bytes, stream.memory());
            stream.flush(&mut self.turn, deliver);
            self.changed(flow, before);
        }
        self.turn.is_over()
    }

    /// Releases more of the stream that has waited longest.
    fn release(&mut self, deliver: &mut impl FnMut(Packet)) {
        let Some(flow) = self.waiting.pop_front() else {
            return;
        };
        let room = self.room();
        let Some(stream) = self.streams.get_mut(&flow) else {
            return;
        };
        let before = (stream.held_bytes, stream.memory());
        stream.release(room, &mut self.turn, deliver);
        stream.waits = stream.has_more();
        if stream.waits {
            self.waiting.push_back(flow);
        }
        self.changed(flow, before);
    }

    /// Delivers all packets that wait for their turn, and returns what has been delivered then.
    pub(crate) fn report(&mut self, deliver: &mut impl FnMut(Packet)) -> Report {
        for packet in self.ready.drain(..) {
            self.memory -= packet.capacity() + PART;
            deliver(packet);
        }
        self.waiting.clear();
        let numbers: Vec<u64> = self.streams.keys().copied().collect();
        for number in numbers {
            let Some(stream) = self.streams.get_mut(&number) else {
                continue;
            };
            let before = (stream.held_bytes, stream.memory());
            stream.release_all(deliver);
            self.changed(number, before);
        }
        let streams = self.streams.iter();
        Report {
            streams: streams
                .map(|(number, stream)| (*number, stream.delivered()))
                .collect(),
            finished: self.finished.clone(),
            brief: self.seen.ranges(),
        }
    }

    /// Returns the bytes held above the first missing one, over all streams.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;
    use wire::hop::RecordWriter;

    use super::*;

    #[test]
    fn the_numbers_of_finished_streams_count() {
        let mut inbox = Inbox::new(1 << 20, None);
        let before = inbox.memory();
        for flow in 0..1_000 {
            inbox.finished.insert(flow * 2..flow * 2 + 1);
        }
        let numbers = inbox.finished.memory();
        assert!(numbers >= 1_000 * size_of::<u64>());
        assert_eq!(inbox.memory(), before + numbers);
    }

    #[test]
    fn brief_packets_keep_their_order_when_a_turn_passes() {
        let mut inbox = Inbox::new(1 << 20, Some(50_000));
        let records = (0..200_u8).map(|number| {
            let packet = Packet::new(PacketBuffer::copy_of(&[0x45, number]));
            let head = RecordWriter::default().write(&packet);
            [head.as_bytes(), &packet[head.skip()..]].concat()
        });
        let (mut now, mut released) = (Instant::ZERO, Vec::new());
        for (number, record) in records.enumerate() {
            // Each turn passes before what waits is flushed.
            now += Duration::from_micros(12);
            inbox.pass_turn(now);
            let mut deliver = |packet: Packet| released.push(packet[1]);
            let taken = inbox.brief(number as u32, 0, &record, true, &mut deliver);
            assert_eq!(taken, Ok(()), "packet {number}");
        }
        assert!(released.len() < 200, "none waited");
        while released.len() < 200 {
            now += Duration::from_millis(2);
            inbox.pass_turn(now);
            inbox.flush(&mut |packet| released.push(packet[1]));
        }
        assert!(released.is_sorted(), "{released:?}");
    }

    #[test]
    fn packets_that_lost_a_fragment_leave_room_for_others() {
        let mut inbox = Inbox::new(longest_packet() * 3 / 2, None);
        let packet = Packet::new(PacketBuffer::copy_of(&[0x45; 1_200]));
        let head = RecordWriter::default().write(&packet);
        let record = [head.as_bytes(), &packet[head.skip()..]].concat();
        let (first, second) = record.split_at(600);
        for number in 0..200 {
            let begun = inbox.brief(number, 0, first, false, &mut |_| ());
            assert_eq!(begun, Ok(()), "packet {number}");
        }
        let stream = inbox.stream(0, 0, &record, false, &mut |_| ());
        assert_eq!(stream, Ok(()), "a stream finds room too");
        let mut whole = 0;
        let end = inbox.brief(199, 600, second, true, &mut |_| whole += 1);
        assert_eq!((end, whole), (Ok(()), 1));
    }
}
