//! Frames of a mobile host that does its worst.

use wire::hop::RecordWriter;
use wire::packet::{Checksum, Packet, PacketBuffer};

/// A frame's longest plaintext, in bytes.
const FULL: usize = 1_300;
/// First bytes of chunks (`docs/hop-frame.md`): a stream with its end, a whole brief packet, a probe.
const STREAM_WITH_END: u8 = 0x13;
const BRIEF: u8 = 0x23;
const PROBE: u8 = 0x40;

/// A way to cost a gateway more than one's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// Records of two bytes, each of which stands for a packet of 40 bytes.
    Records,
    /// As many packets of 20 bytes as fit into a frame.
    Packets,
    /// Packets each of which begins a flow.
    Flows,
    /// Frames of a few bytes that only ask for an acknowledgement.
    Probes,
    /// Sealed bytes that are no frame.
    Garbage,
}

impl Attack {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Records,
        Self::Packets,
        Self::Flows,
        Self::Probes,
        Self::Garbage,
    ];

    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Records => "two-byte records",
            Self::Packets => "tiny packets",
            Self::Flows => "new flows",
            Self::Probes => "probes",
            Self::Garbage => "garbage",
        }
    }

    /// Returns the plaintext of frame `number` of the mobile host with this inner address.
    pub fn frame(self, number: u32, from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
        let mut bytes = vec![0x10];
        bytes.extend(number.to_be_bytes());
        let first = number.wrapping_mul(64);
        match self {
            Self::Records => bytes.extend(records(number, from, to)),
            Self::Packets => fill(&mut bytes, first, |_| header(99, 20, from, to)),
            Self::Flows => fill(&mut bytes, first, |packet| {
                let mut datagram = header(17, 28, from, to);
                let [.., high, low] = packet.to_be_bytes();
                datagram.extend([high, low, 0, 53, 0, 8, 0, 0]);
                datagram
            }),
            Self::Probes => bytes.push(PROBE),
            Self::Garbage => bytes.resize(FULL, 0xff),
        }
        bytes
    }
}

/// Appends brief packets until the frame is full; each has a number.
fn fill(bytes: &mut Vec<u8>, first: u32, packet: impl Fn(u32) -> Vec<u8>) {
    for number in first..first.saturating_add(64) {
        let content = packet(number);
        let chunk = 1 + 4 + 2 + 2 + content.len();
        if bytes.len() + chunk > FULL {
            return;
        }
        bytes.push(BRIEF);
        bytes.extend(number.to_be_bytes());
        bytes.extend((content.len() as u16 + 2).to_be_bytes());
        bytes.extend([0, content.len() as u8]);
        bytes.extend(content);
    }
}

/// Returns a stream of its own: a TCP segment without payload, and then records that repeat it.
fn records(number: u32, from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let mut segment = header(6, 40, from, to);
    segment.extend([0x9c, 0x40, 0, 9]);
    segment.extend(number.to_be_bytes());
    // It acknowledges nothing, has five words and the flag ACK, and a window.
    segment.extend([0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    let mut packet = Packet::new(PacketBuffer::copy_of(&segment));
    packet.checksum = Checksum::Verified;
    let head = RecordWriter::default().write(&packet);
    let mut content = head.as_bytes().to_vec();
    content.extend(segment);
    while content.len() < FULL - 32 {
        content.extend([0x80, 0]);
    }
    let mut chunk = vec![STREAM_WITH_END];
    // A number of eight bytes, as QUIC writes it (RFC 9000 §16).
    chunk.extend((u64::from(number) | 3 << 62).to_be_bytes());
    chunk.extend(0_u32.to_be_bytes());
    chunk.extend((content.len() as u16).to_be_bytes());
    chunk.extend(content);
    chunk
}

/// Returns an IPv4 header for a packet of this protocol and length.
fn header(protocol: u8, length: u8, from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, length, 0, 0, 0, 0, 64, protocol, 0, 0];
    bytes.extend(from);
    bytes.extend(to);
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    bytes[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    bytes
}
