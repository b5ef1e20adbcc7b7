//! What crosses the links.

use simulator::{Coding, Packet as Crossing};
use units::Bytes;
use wire::TcpSegment;
use wire::packet::PacketBuffer;

/// What a frame of our link repair costs besides its bytes: IPv4 and UDP headers, and the seal.
pub(crate) const FRAME_OVERHEAD: usize = 20 + 8 + 24;

/// A packet of the wired network or of the hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Packet {
    /// A TCP segment in its IPv4 packet.
    Segment {
        segment: TcpSegment,
        /// It goes before what waits for the air.
        ahead: bool,
    },
    /// A frame of our link repair; it holds whatever parts of packets found room.
    Frame(PacketBuffer),
}

impl From<TcpSegment> for Packet {
    fn from(segment: TcpSegment) -> Self {
        Self::Segment {
            segment,
            ahead: false,
        }
    }
}

/// The ports of both ends, the lower one first; frames belong to no connection.
pub(crate) type Flow = (u16, u16);

impl Packet {
    /// Bytes of data that the packet is there for: a segment's, or all of a frame's own.
    pub(crate) fn data(&self) -> u64 {
        match self {
            Self::Segment { segment, .. } => segment.payload.into(),
            Self::Frame(frame) => frame.len() as u64,
        }
    }
}

impl Crossing for Packet {
    type Flow = Flow;

    fn length(&self) -> Bytes {
        match self {
            Self::Segment { segment, .. } => Bytes::from(segment.packet_length()),
            Self::Frame(frame) => Bytes::from(frame.len() + FRAME_OVERHEAD),
        }
    }

    fn flow(&self) -> Flow {
        match self {
            Self::Segment { segment, .. } => {
                let ports = (segment.source.port(), segment.destination.port());
                (ports.0.min(ports.1), ports.0.max(ports.1))
            }
            Self::Frame(_) => (0, 0),
        }
    }

    fn goes_ahead(&self) -> bool {
        matches!(self, Self::Segment { ahead: true, .. })
    }
}

/// The first byte of an IPv4 header without options, and the protocol number that marks a frame: 253, for
/// experiments (RFC 3692).
const IPV4: u8 = 0x45;
const FRAME_PROTOCOL: u8 = 253;

impl Coding for Packet {
    fn encode(&self, into: &mut Vec<u8>) {
        let (start, length) = (into.len(), self.length().get() as usize);
        into.resize(start + length, 0);
        let bytes = &mut into[start..];
        match self {
            Self::Segment { segment, .. } => segment.encode(bytes),
            Self::Frame(frame) => {
                bytes[0] = IPV4;
                bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
                bytes[9] = FRAME_PROTOCOL;
                bytes[FRAME_OVERHEAD..].copy_from_slice(frame);
            }
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.get(9) == Some(&FRAME_PROTOCOL) && bytes.len() >= FRAME_OVERHEAD {
            let frame = PacketBuffer::copy_of(&bytes[FRAME_OVERHEAD..]);
            return Ok(Self::Frame(frame));
        }
        match TcpSegment::parse(bytes) {
            Ok((segment, true)) => Ok(segment.into()),
            Ok((segment, false)) => Err(format!("foreign data in {segment:?}")),
            Err(error) => Err(error.to_string()),
        }
    }
}
