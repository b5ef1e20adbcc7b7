//! The packets of the links.

use std::net::{Ipv4Addr, SocketAddrV4};

use redirector::{Content, Count};
use simulator::{Coding, Packet as Crossing};
use units::Bytes;
use wire::TcpSegment;
use wire::packet::PacketBuffer;

use crate::link_repair::{FRAME_OVERHEAD, IPV4, encode_frame, parse_frame};
use crate::router::Addressed;

/// A packet of the wired network or of the hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Packet {
    /// A TCP segment in its IPv4 packet.
    Segment {
        segment: TcpSegment,
        /// True if it overtakes the packets that wait for the air.
        ahead: bool,
    },
    /// A frame of our link repair; it holds the parts of packets that fit.
    Frame(PacketBuffer),
    /// A packet of MTCP, which has no IP below it.
    Mtcp(mtcp::Packet<Count>),
}

impl From<TcpSegment> for Packet {
    fn from(segment: TcpSegment) -> Self {
        Self::Segment {
            segment,
            ahead: false,
        }
    }
}

/// Ports of both ends, the lower one first; frames belong to no connection.
pub(crate) type Flow = (u16, u16);

impl Packet {
    /// Returns the payload of the packet in bytes: the data of a segment, or all of a frame.
    pub(crate) fn data(&self) -> u64 {
        match self {
            Self::Segment { segment, .. } => segment.payload.into(),
            Self::Frame(frame) => frame.len() as u64,
            Self::Mtcp(mtcp::Packet::Data(data)) => data.content.length(),
            Self::Mtcp(mtcp::Packet::Control(_)) => 0,
        }
    }
}

impl Crossing for Packet {
    type Flow = Flow;

    fn length(&self) -> Bytes {
        match self {
            Self::Segment { segment, .. } => Bytes::from(segment.packet_length()),
            Self::Frame(frame) => Bytes::from(frame.len() + FRAME_OVERHEAD),
            Self::Mtcp(packet) => Bytes::from(packet.length()),
        }
    }

    fn flow(&self) -> Flow {
        match self {
            Self::Segment { segment, .. } => {
                let ports = (segment.source.port(), segment.destination.port());
                (ports.0.min(ports.1), ports.0.max(ports.1))
            }
            Self::Frame(_) | Self::Mtcp(_) => (0, 0),
        }
    }

    fn goes_ahead(&self) -> bool {
        matches!(self, Self::Segment { ahead: true, .. })
    }
}

impl Addressed for Packet {
    type Address = SocketAddrV4;

    fn destination(&self) -> Option<SocketAddrV4> {
        match self {
            Self::Segment { segment, .. } => Some(segment.destination),
            Self::Frame(_) | Self::Mtcp(_) => None,
        }
    }
}

impl Coding for Packet {
    fn encode(&self, into: &mut Vec<u8>) {
        match self {
            Self::Segment { segment, .. } => {
                let start = into.len();
                into.resize(start + segment.packet_length(), 0);
                segment.encode(&mut into[start..]);
            }
            Self::Frame(frame) => encode_frame(frame, [Ipv4Addr::UNSPECIFIED; 2], into),
            Self::Mtcp(packet) => {
                let start = into.len();
                into.resize(start + packet.length(), 0);
                packet.write(&mut into[start..], |_, content| content.fill(0));
            }
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        if let Some(frame) = parse_frame(bytes) {
            return Ok(Self::Frame(PacketBuffer::copy_of(frame)));
        }
        // No packet of MTCP begins like an IPv4 packet: control packets clear some of those bits, and data packets set
        // the first.
        if bytes.first() != Some(&IPV4) {
            let packet = mtcp::Packet::parse(bytes).map_err(|error| error.to_string())?;
            return Ok(Self::Mtcp(packet.map(|data| Count(data.len() as u64))));
        }
        match TcpSegment::parse(bytes) {
            Ok((segment, true)) => Ok(segment.into()),
            Ok((segment, false)) => Err(format!("foreign data in {segment:?}")),
            Err(error) => Err(error.to_string()),
        }
    }
}
