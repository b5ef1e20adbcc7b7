//! Encoding of records.

use super::context::{Context, Headers};
use super::{
    ACKNOWLEDGEMENT, DELTA, FLAGS, HEAD_MAX, IDENTIFICATION, SEGMENT_SIZE, SEQUENCE, TIMESTAMPS,
    WHOLE_CHECKSUM, WHOLE_SEGMENT_SIZE, WINDOW,
};
use crate::hop::varint;
use crate::packet::{Checksum, Packet};

/// The head of a record; in the stream it is followed by the packet from [`skip`](Self::skip) on.
#[derive(Debug, Clone)]
pub struct RecordHead {
    bytes: [u8; HEAD_MAX],
    length: u8,
    skip: u8,
}

impl RecordHead {
    fn new(skip: usize) -> Self {
        Self {
            bytes: [0; HEAD_MAX],
            length: 0,
            skip: skip as u8,
        }
    }

    /// Returns the bytes of the head.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Returns the number of the packet's first bytes that the head replaces.
    pub fn skip(&self) -> usize {
        usize::from(self.skip)
    }

    fn push(&mut self, field: &[u8]) {
        let length = usize::from(self.length);
        self.bytes[length..length + field.len()].copy_from_slice(field);
        self.length += field.len() as u8;
    }

    fn push_varint(&mut self, value: u64) {
        self.length += varint::write(value, &mut self.bytes[usize::from(self.length)..]) as u8;
    }
}

/// Encodes the packets of one flow as records.
#[derive(Clone, Default)]
pub struct RecordWriter {
    context: Option<Context>,
}

impl std::fmt::Debug for RecordWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RecordWriter")
            .field("delta", &self.context.is_some())
            .finish()
    }
}

impl RecordWriter {
    /// Returns the head of the next record, which holds `packet`.
    pub fn write(&mut self, packet: &Packet) -> RecordHead {
        let checksum_known = packet.checksum != Checksum::Unverified;
        let next = Context::of(packet).filter(|_| checksum_known);
        let delta = self
            .context
            .as_ref()
            .zip(next.as_ref())
            .and_then(|(before, now)| delta(before, now, packet.len() - now.headers.len()));
        // Beyond TCP the other end cannot restore a checksum, only pass on a partial one.
        let leave_checksum = next.is_some() || packet.checksum == Checksum::Partial;
        self.context = next;
        delta.unwrap_or_else(|| whole(packet, leave_checksum))
    }
}

fn whole(packet: &Packet, leave_checksum: bool) -> RecordHead {
    let mut head = RecordHead::new(0);
    let checksum = if leave_checksum { WHOLE_CHECKSUM } else { 0 };
    let size = if packet.segment_size == 0 {
        0
    } else {
        WHOLE_SEGMENT_SIZE
    };
    head.push(&[checksum | size]);
    head.push_varint(packet.len() as u64);
    if packet.segment_size != 0 {
        head.push(&packet.segment_size.to_be_bytes());
    }
    head
}

fn delta(before: &Context, now: &Context, payload: usize) -> Option<RecordHead> {
    let (old, new) = (&before.headers, &now.headers);
    if !new.differs_only_as_deltas_can_say(old) {
        return None;
    }
    let mut head = RecordHead::new(new.len());
    head.push(&[DELTA]);
    head.push_varint(payload as u64);
    let mut which = DELTA;
    if new.sequence() != before.next_sequence {
        which |= SEQUENCE;
        head.push(&new.sequence().to_be_bytes());
    }
    if new.acknowledgement() != old.acknowledgement() {
        which |= ACKNOWLEDGEMENT;
        head.push_varint(u64::from(
            new.acknowledgement().wrapping_sub(old.acknowledgement()),
        ));
    }
    if new.window() != old.window() {
        which |= WINDOW;
        head.push(&new.window().to_be_bytes());
    }
    which |= push_timestamps(&mut head, old, new);
    if new.flags() != old.flags() {
        which |= FLAGS;
        head.push(&[new.flags()]);
    }
    if new.identification() != before.next_identification {
        which |= IDENTIFICATION;
        head.push(&new.identification().to_be_bytes());
    }
    if now.segment_size != before.segment_size {
        which |= SEGMENT_SIZE;
        head.push(&now.segment_size.to_be_bytes());
    }
    head.bytes[0] = which;
    Some(head)
}

fn push_timestamps(head: &mut RecordHead, old: &Headers, new: &Headers) -> u8 {
    let (Some(before), Some(now)) = (old.timestamps(), new.timestamps()) else {
        return 0;
    };
    if before == now {
        return 0;
    }
    head.push_varint(u64::from(now.0.wrapping_sub(before.0)));
    head.push_varint(u64::from(now.1.wrapping_sub(before.1)));
    TIMESTAMPS
}
