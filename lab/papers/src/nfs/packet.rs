//! The packets of the links.

use std::net::Ipv4Addr;

use bytes::Bytes as Content;
use simulator::{Coding, Packet as Crossing};
use units::Bytes;
use wire::ip::Ipv4View;
use wire::packet::PacketBuffer;

use crate::link_repair::{FRAME_OVERHEAD, encode_frame, parse_frame};
use crate::router::Addressed;

/// A packet of the wired network or of the hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Packet {
    /// A datagram in its IPv4 packet, or a fragment of one.
    Ip {
        /// Source and destination.
        hosts: [Ipv4Addr; 2],
        /// The packet.
        bytes: Content,
    },
    /// A frame of our link repair; it holds the parts of packets that fit.
    Frame {
        /// Ends of the hop: source and destination.
        hosts: [Ipv4Addr; 2],
        /// The frame.
        bytes: Content,
    },
}

impl Packet {
    /// Creates a packet from the bytes of an IPv4 packet.
    pub(crate) fn ip(bytes: Content) -> Result<Self, String> {
        let view = Ipv4View::parse(&bytes).map_err(|error| error.to_string())?;
        let hosts = [view.source(), view.destination()];
        Ok(Self::Ip { hosts, bytes })
    }

    /// Creates a frame between the ends of a hop.
    pub(crate) fn frame(hosts: [Ipv4Addr; 2], frame: &PacketBuffer) -> Self {
        let bytes = Content::copy_from_slice(frame);
        Self::Frame { hosts, bytes }
    }

    /// Returns source and destination.
    pub(crate) fn hosts(&self) -> [Ipv4Addr; 2] {
        match self {
            Self::Ip { hosts, .. } | Self::Frame { hosts, .. } => *hosts,
        }
    }
}

impl Addressed for Packet {
    type Address = Ipv4Addr;

    fn destination(&self) -> Option<Ipv4Addr> {
        let [_, to] = self.hosts();
        Some(to)
    }
}

impl Crossing for Packet {
    type Flow = [Ipv4Addr; 2];

    fn length(&self) -> Bytes {
        match self {
            Self::Ip { bytes, .. } => Bytes::from(bytes.len()),
            Self::Frame { bytes, .. } => Bytes::from(bytes.len() + FRAME_OVERHEAD),
        }
    }

    fn flow(&self) -> [Ipv4Addr; 2] {
        let [from, to] = self.hosts();
        [from.min(to), from.max(to)]
    }
}

impl Coding for Packet {
    fn encode(&self, into: &mut Vec<u8>) {
        match self {
            Self::Ip { bytes, .. } => into.extend_from_slice(bytes),
            Self::Frame { hosts, bytes } => encode_frame(bytes, *hosts, into),
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let packet = Self::ip(Content::copy_from_slice(bytes))?;
        let Some(frame) = parse_frame(bytes) else {
            return Ok(packet);
        };
        Ok(Self::Frame {
            hosts: packet.hosts(),
            bytes: Content::copy_from_slice(frame),
        })
    }
}
