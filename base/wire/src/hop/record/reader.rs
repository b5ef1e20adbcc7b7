//! Parsing of records.

use planted::Bug;
use thiserror::Error;

use super::context::{Context, Headers};
use super::{
    ACKNOWLEDGEMENT, DELTA, FLAGS, IDENTIFICATION, SEGMENT_SIZE, SEQUENCE, TIMESTAMPS,
    WHOLE_CHECKSUM, WHOLE_SEGMENT_SIZE, WINDOW,
};
use crate::hop::{PACKET_MAX, varint};
use crate::packet::{Checksum, HEADROOM, Packet, PacketBuffer};

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// Reason why the peer's stream is not a sequence of records; the rest of it cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StreamBroken {
    /// A delta without an earlier packet to refer to.
    #[error("a stream has a delta record without a packet before it")]
    NoContext,
    /// A packet of a length that IP does not allow.
    #[error("a stream announces a packet of {0} bytes")]
    Length(u64),
    /// The stream ends inside a record.
    #[error("a stream ends inside a record")]
    Unfinished,
}

/// Turns the bytes of one flow's stream, in order and in pieces of any size, back into packets.
#[derive(Default)]
pub struct RecordReader {
    context: Option<Context>,
    head: Vec<u8>,
    body: Option<Body>,
}

/// A packet that is being assembled.
struct Body {
    buffer: PacketBuffer,
    segment_size: u16,
    checksum: Checksum,
    missing: usize,
    /// Bytes of its data that were released before.
    released: usize,
    /// Its headers, if whole segments may be released before the rest has arrived.
    splittable: Option<Headers>,
}

impl std::fmt::Debug for RecordReader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let missing = self.body.as_ref().map(|body| body.missing);
        formatter
            .debug_struct("RecordReader")
            .field("missing", &missing)
            .finish_non_exhaustive()
    }
}

impl RecordReader {
    /// Reads the next bytes of the stream and passes each packet that they complete to `deliver`.
    pub fn read(
        &mut self,
        bytes: &[u8],
        deliver: &mut impl FnMut(Packet),
    ) -> Result<(), StreamBroken> {
        let mut goes_on = |packet| {
            deliver(packet);
            true
        };
        self.read_while(bytes, &mut goes_on).map(drop)
    }

    /// Reads the next bytes of the stream until `deliver` returns false for a packet: two bytes may stand for one, so
    /// a limit must apply before the next is made. Returns the number of bytes read.
    pub fn read_while(
        &mut self,
        all: &[u8],
        deliver: &mut impl FnMut(Packet) -> bool,
    ) -> Result<usize, StreamBroken> {
        let mut bytes = all;
        loop {
            if let Some(body) = &mut self.body {
                let (part, rest) = bytes.split_at(body.missing.min(bytes.len()));
                body.buffer.extend(part);
                body.missing -= part.len();
                bytes = rest;
                let is_whole = body.missing == 0;
                if !(is_whole && self.finish(deliver)) {
                    return Ok(all.len() - bytes.len());
                }
            }
            if bytes.is_empty() {
                return Ok(all.len());
            }
            bytes = self.read_head(bytes)?;
            if self.body.is_none() {
                return Ok(all.len());
            }
        }
    }

    /// Releases the whole segments of a packet that is still being assembled, so that a long packet does not wait for
    /// its end.
    pub fn flush(&mut self, deliver: &mut impl FnMut(Packet)) {
        let Some(body) = &mut self.body else { return };
        let Some(headers) = &mut body.splittable else {
            return;
        };
        let size = usize::from(body.segment_size);
        let filled = body.buffer.len() - headers.len();
        let whole = filled / size * size;
        if whole == 0 || body.missing == 0 {
            return;
        }
        let rest = filled - whole;
        let mut later =
            PacketBuffer::with_room(HEADROOM + headers.len() + rest + body.missing, HEADROOM);
        let mut now = *headers;
        now.set_flags(headers.flags() & !FIN_PSH);
        headers.set_flags(headers.flags() & !CWR);
        headers.set_sequence(headers.sequence().wrapping_add(whole as u32));
        body.released += whole;
        let segments = (whole / size) as u16;
        headers.set_identification(headers.identification().wrapping_add(segments));
        later.extend(headers.as_bytes());
        later.extend(&body.buffer[headers.len() + whole..]);
        let mut buffer = std::mem::replace(&mut body.buffer, later);
        buffer.truncate(headers.len() + whole);
        deliver(finished(buffer, &mut now, body.segment_size));
    }

    /// Returns the number of bytes that the packet being assembled still lacks; zero between packets.
    pub fn missing(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.missing)
    }

    /// Returns the number of bytes of data that [`flush`](Self::flush) has released of the packet being assembled.
    pub fn released(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.released)
    }

    /// Returns the heap memory in use, in bytes: a packet that is being assembled, and an incomplete head.
    pub fn memory(&self) -> usize {
        let body = self.body.as_ref().map_or(0, |body| body.buffer.capacity());
        body + self.head.capacity()
    }

    /// Checks that the stream may end here, between two records.
    pub fn end(&self) -> Result<(), StreamBroken> {
        let between = self.body.is_none() && self.head.is_empty();
        between.then_some(()).ok_or(StreamBroken::Unfinished)
    }

    fn finish(&mut self, deliver: &mut impl FnMut(Packet) -> bool) -> bool {
        let Some(mut body) = self.body.take() else {
            return true;
        };
        deliver(match &mut body.splittable {
            Some(headers) => finished(body.buffer, headers, body.segment_size),
            None => self.finish_whole(body),
        })
    }

    fn finish_whole(&mut self, body: Body) -> Packet {
        let mut packet = Packet::new(body.buffer).with_checksum(body.checksum);
        packet.segment_size = body.segment_size;
        self.context = Context::of(&packet).filter(|_| packet.checksum != Checksum::Unverified);
        if self.context.is_some() {
            packet.store_pseudo_header_checksum();
        }
        packet
    }

    /// Reads a record's head from `bytes`, after the part of it that arrived earlier, and begins its body. If there is
    /// no body afterwards, the head is not complete yet.
    fn read_head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], StreamBroken> {
        if self.head.is_empty()
            && let Some(used) = self.parse_head(bytes)?
        {
            return Ok(&bytes[used..]);
        }
        let before = self.head.len();
        let taken = bytes.len().min(super::HEAD_MAX.saturating_sub(before));
        self.head.extend_from_slice(&bytes[..taken]);
        let head = std::mem::take(&mut self.head);
        let used = self.parse_head(&head)?;
        self.head = head;
        match used {
            Some(used) => {
                self.head.clear();
                Ok(&bytes[used - before..])
            }
            None => Ok(&bytes[taken..]),
        }
    }

    /// Begins the body of the record whose head starts `bytes`; returns the length of the head, or `None` if it is
    /// longer than `bytes`.
    fn parse_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, StreamBroken> {
        let mut fields = Fields { bytes, place: 1 };
        let Some(first) = bytes.first() else {
            return Ok(None);
        };
        let begun = match first & DELTA {
            0 => self.begin_whole(*first, &mut fields)?,
            _ => self.begin_delta(*first, &mut fields)?,
        };
        Ok(begun.map(|()| fields.place))
    }

    fn begin_whole(&mut self, first: u8, fields: &mut Fields) -> Result<Option<()>, StreamBroken> {
        let Some(length) = fields.varint() else {
            return Ok(None);
        };
        let segment_size = match first & WHOLE_SEGMENT_SIZE {
            0 => 0,
            _ => match fields.short() {
                Some(size) => size,
                None => return Ok(None),
            },
        };
        let most = PACKET_MAX as u64
            * if planted::is(Bug::LengthIsBelieved) {
                256
            } else {
                1
            };
        if length == 0 || length > most {
            return Err(StreamBroken::Length(length));
        }
        let missing = length as usize;
        let checksum = match first & WHOLE_CHECKSUM {
            0 => Checksum::Unverified,
            _ => Checksum::Partial,
        };
        self.body = Some(Body {
            buffer: PacketBuffer::with_room(HEADROOM + missing, HEADROOM),
            segment_size,
            checksum,
            missing,
            released: 0,
            splittable: None,
        });
        Ok(Some(()))
    }

    fn begin_delta(&mut self, first: u8, fields: &mut Fields) -> Result<Option<()>, StreamBroken> {
        let before = self.context.as_ref().ok_or(StreamBroken::NoContext)?;
        let Some((next, payload)) = fields.delta(first, before) else {
            return Ok(None);
        };
        if payload + next.headers.len() as u64 > PACKET_MAX as u64 {
            return Err(StreamBroken::Length(payload));
        }
        let missing = payload as usize;
        let headers = next.headers;
        self.context = Some(Context::after(headers, missing, next.segment_size));
        let mut buffer = PacketBuffer::with_room(HEADROOM + headers.len() + missing, HEADROOM);
        buffer.extend(headers.as_bytes());
        self.body = Some(Body {
            buffer,
            // With no segment size nothing is ever released early: one segment is the whole packet.
            segment_size: match next.segment_size {
                0 => u16::MAX,
                size => size,
            },
            checksum: Checksum::Partial,
            missing,
            released: 0,
            splittable: Some(headers),
        });
        Ok(Some(()))
    }
}

/// Returns a packet from `buffer`, whose headers become `headers` with matching lengths and checksums.
fn finished(mut buffer: PacketBuffer, headers: &mut Headers, segment_size: u16) -> Packet {
    let payload = buffer.len() - headers.len();
    headers.set_lengths(payload);
    headers.set_partial_checksum(payload);
    buffer[..headers.len()].copy_from_slice(headers.as_bytes());
    let mut packet = Packet::new(buffer).with_checksum(Checksum::Partial);
    if payload > usize::from(segment_size) {
        packet.segment_size = segment_size;
    }
    packet
}

/// The fields of a head, which its methods take off; they return `None` at the end.
struct Fields<'a> {
    bytes: &'a [u8],
    place: usize,
}

impl Fields<'_> {
    fn varint(&mut self) -> Option<u64> {
        let (value, size) = varint::read(self.bytes.get(self.place..)?)?;
        self.place += size;
        Some(value)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let field = self.bytes.get(self.place..)?.first_chunk::<N>()?;
        self.place += N;
        Some(*field)
    }

    fn short(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn delta(&mut self, which: u8, before: &Context) -> Option<(Context, u64)> {
        let mut next = *before;
        let has = |field| which & field != 0;
        let headers = &mut next.headers;
        let payload = self.varint()?;
        headers.set_sequence(before.next_sequence);
        if has(SEQUENCE) {
            headers.set_sequence(u32::from_be_bytes(self.take()?));
        }
        if has(ACKNOWLEDGEMENT) {
            let delta = self.varint()? as u32;
            headers.set_acknowledgement(headers.acknowledgement().wrapping_add(delta));
        }
        if has(WINDOW) {
            headers.set_window(self.short()?);
        }
        if has(TIMESTAMPS) {
            let (value, echo) = (self.varint()? as u32, self.varint()? as u32);
            if let Some(old) = headers.timestamps() {
                headers.set_timestamps(old.0.wrapping_add(value), old.1.wrapping_add(echo));
            }
        }
        if has(FLAGS) {
            headers.set_flags(self.take::<1>()?[0]);
        }
        headers.set_identification(before.next_identification);
        if has(IDENTIFICATION) {
            headers.set_identification(self.short()?);
        }
        if has(SEGMENT_SIZE) {
            next.segment_size = self.short()?;
        }
        Some((next, payload))
    }
}
