//! What has arrived of the other end's streams and brief packets, until it can be released.

use std::collections::{BTreeMap, VecDeque};

use wire::hop::{RecordReader, expand};
use wire::packet::{Packet, PacketBuffer};

use crate::ranges::RangeSet;

/// Bytes held above the first missing one, over all streams (`docs/hop-frame.md`, "Limits").
pub(crate) const HELD_MAX: u64 = 16 << 20;
/// Streams open at once.
pub(crate) const STREAMS_MAX: usize = 4_096;
/// Brief packets in reassembly.
const FRAGMENTED_MAX: usize = 64;
/// Brief packets that are told from repetitions.
const SEEN: usize = 4_096;

/// Why a chunk was not taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It was here before.
    Repeated,
    /// It exceeds what may be held.
    Limit,
    /// What it belongs to cannot be read.
    Broken,
}

/// One stream, or one fragmented packet, at its receiving end.
#[derive(Debug, Default)]
struct StreamReceiver {
    reader: RecordReader,
    /// Everything below has been read.
    read: u64,
    /// Later parts, sorted, disjoint but for overlaps at their ends.
    held: VecDeque<(u64, PacketBuffer)>,
    held_bytes: u64,
    end: Option<u64>,
    broken: bool,
}

impl StreamReceiver {
    /// Takes in `bytes` from `start` on and releases the packets that this completes.
    fn receive(
        &mut self,
        start: u64,
        bytes: &[u8],
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
            return self.hold(start, bytes);
        }
        self.release(start, bytes, deliver);
        while self
            .held
            .front()
            .is_some_and(|(start, _)| *start <= self.read)
        {
            if let Some((start, part)) = self.held.pop_front() {
                self.held_bytes -= part.len() as u64;
                self.release(start, &part, deliver);
            }
        }
        if self.broken {
            Err(Refused::Broken)
        } else {
            Ok(())
        }
    }

    fn release(&mut self, start: u64, bytes: &[u8], deliver: &mut impl FnMut(Packet)) {
        let known = (self.read - start) as usize;
        let Some(news) = bytes.get(known..).filter(|news| !news.is_empty()) else {
            return;
        };
        self.read += news.len() as u64;
        if self.reader.read(news, deliver).is_err() {
            self.broken = true;
            self.held.clear();
            self.held_bytes = 0;
        }
    }

    fn hold(&mut self, start: u64, bytes: &[u8]) -> Result<(), Refused> {
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
        self.held_bytes += bytes.len() as u64;
        self.held
            .insert(place, (start, PacketBuffer::copy_of(bytes)));
        Ok(())
    }

    /// Whether the part that has been read ends inside a record.
    fn is_inside(&self) -> bool {
        self.reader.end().is_err()
    }

    fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.read >= end)
    }
}

/// The receiving end of everything that the other end sends.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    streams: BTreeMap<u64, StreamReceiver>,
    finished: RangeSet,
    held_bytes: u64,
    fragmented: VecDeque<(u64, StreamReceiver)>,
    seen: SeenPackets,
    /// Streams that may have whole segments of an unfinished packet.
    touched: Vec<u64>,
}

impl Inbox {
    /// Takes in a chunk of a stream.
    pub(crate) fn stream(
        &mut self,
        flow: u64,
        offset: u32,
        (bytes, end): (&[u8], bool),
        deliver: &mut impl FnMut(Packet),
    ) -> Result<(), Refused> {
        if self.finished.contains(flow) {
            return Err(Refused::Repeated);
        }
        if !self.streams.contains_key(&flow) && self.streams.len() >= STREAMS_MAX {
            return Err(Refused::Limit);
        }
        let stream = self.streams.entry(flow).or_default();
        let start = expand(offset, stream.read);
        let last = start + bytes.len() as u64;
        if start > stream.read && self.held_bytes + bytes.len() as u64 > HELD_MAX {
            return Err(Refused::Limit);
        }
        if end {
            stream.end = Some(last);
        }
        let before = stream.held_bytes;
        let result = stream.receive(start, bytes, deliver);
        self.held_bytes = self.held_bytes + stream.held_bytes - before;
        if stream.is_finished() || (stream.broken && stream.end.is_some()) {
            self.streams.remove(&flow);
            self.finished.insert(flow..flow + 1);
            // Numbers come in order and few streams are open, so the ranges of an honest end are fewer.
            self.finished.keep_highest(STREAMS_MAX + 1);
        } else if result.is_ok() && stream.is_inside() && self.touched.last() != Some(&flow) {
            self.touched.push(flow);
        }
        result
    }

    /// Takes in a brief packet or a fragment of one.
    pub(crate) fn brief(
        &mut self,
        packet: u32,
        offset: u16,
        (bytes, end): (&[u8], bool),
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
        let known = self
            .fragmented
            .iter()
            .position(|(number, _)| *number == packet);
        let place = known.unwrap_or_else(|| {
            if self.fragmented.len() == FRAGMENTED_MAX {
                self.fragmented.pop_front();
            }
            self.fragmented
                .push_back((packet, StreamReceiver::default()));
            self.fragmented.len() - 1
        });
        let (_, stream) = &mut self.fragmented[place];
        if end {
            stream.end = Some(u64::from(offset) + bytes.len() as u64);
        }
        let result = stream.receive(u64::from(offset), bytes, deliver);
        if stream.is_finished() || stream.broken {
            self.fragmented.remove(place);
            self.seen.insert(packet);
        }
        result
    }

    /// Whether a stream has been read since the last [`flush`](Self::flush) and is inside a record.
    pub(crate) fn has_partial(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Releases whole segments of long packets whose end has not come yet.
    pub(crate) fn flush(&mut self, deliver: &mut impl FnMut(Packet)) {
        for flow in self.touched.drain(..) {
            if let Some(stream) = self.streams.get_mut(&flow) {
                stream.reader.flush(deliver);
            }
        }
    }

    /// Bytes held above the first missing one, over all streams.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
}

/// Which brief packets have been seen of the last [`SEEN`].
#[derive(Debug)]
struct SeenPackets {
    highest: u64,
    bits: [u64; SEEN / 64],
    any: bool,
}

impl Default for SeenPackets {
    fn default() -> Self {
        Self {
            highest: 0,
            bits: [0; SEEN / 64],
            any: false,
        }
    }
}

impl SeenPackets {
    fn bit(number: u64) -> (usize, u64) {
        let place = number as usize % SEEN;
        (place / 64, 1 << (place % 64))
    }

    /// Whether the packet was seen, or is so old that nobody knows.
    fn contains(&self, number: u64) -> bool {
        let (word, mask) = Self::bit(number);
        self.any
            && number <= self.highest
            && (self.highest - number >= SEEN as u64 || self.bits[word] & mask != 0)
    }

    fn insert(&mut self, number: u64) {
        if number > self.highest {
            let skipped = (number - self.highest).min(SEEN as u64);
            for passed in number - skipped + 1..=number {
                let (word, mask) = Self::bit(passed);
                self.bits[word] &= !mask;
            }
            self.highest = number;
        }
        let (word, mask) = Self::bit(number);
        self.bits[word] |= mask;
        self.any = true;
    }
}
