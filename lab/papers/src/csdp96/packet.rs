//! The packets of the wire and the frames of the air.

use simulator::Packet as Crossing;
use units::{Bytes, Instant};
use wire::TcpSegment;

/// A packet from or to one mobile host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// Number of the mobile host that it comes from or goes to.
    pub(crate) mobile: u16,
    /// Content of the packet.
    pub(crate) content: Content,
}

/// Content of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// A segment of a connection.
    Segment(TcpSegment),
    /// A datagram of a flow.
    Datagram {
        /// Length, headers included.
        length: Bytes,
        /// Time at which it was sent.
        sent: Instant,
    },
}

/// A packet that a base station sends or receives for mobile hosts.
pub(crate) trait MobilePacket: Crossing {
    /// Returns the number of the mobile host that it comes from or goes to; `None` if it belongs to no mobile host.
    fn mobile(&self) -> Option<u16>;
}

impl MobilePacket for Packet {
    fn mobile(&self) -> Option<u16> {
        Some(self.mobile)
    }
}

impl Crossing for Packet {
    type Flow = u16;

    fn length(&self) -> Bytes {
        match self.content {
            Content::Segment(segment) => Bytes::from(segment.packet_length()),
            Content::Datagram { length, .. } => length,
        }
    }

    fn flow(&self) -> u16 {
        self.mobile
    }
}

/// Content of a frame of the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried<P> {
    /// A packet; the number distinguishes copies of one frame from the next frame (IEEE 802.11-1997 §9.2.9).
    Packet { number: u64, packet: P },
    /// An empty frame, which is sent for its acknowledgement.
    Probe,
}

impl<P: Crossing> Carried<P> {
    /// Returns the number of bytes besides those of the MAC.
    pub(crate) fn length(&self) -> Bytes {
        match self {
            Self::Packet { packet, .. } => packet.length(),
            Self::Probe => Bytes::ZERO,
        }
    }
}

/// A filter that drops repeated copies of the frames of one sender.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Filter {
    next: u64,
}

impl Filter {
    /// Returns the packet of a frame, if the frame is not a copy of an earlier one.
    pub(crate) fn take<P>(&mut self, carried: Carried<P>) -> Option<P> {
        match carried {
            Carried::Packet { number, packet } if number >= self.next => {
                self.next = number + 1;
                Some(packet)
            }
            Carried::Packet { .. } | Carried::Probe => None,
        }
    }
}
