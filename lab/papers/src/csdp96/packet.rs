//! What crosses the wire and the air.

use simulator::Packet as Crossing;
use units::{Bytes, Instant};
use wire::TcpSegment;

/// A packet of one mobile host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// The mobile host that it comes from or goes to.
    pub(crate) mobile: u16,
    /// What it carries.
    pub(crate) content: Content,
}

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// A segment of a connection.
    Segment(TcpSegment),
    /// A datagram of a flow.
    Datagram {
        /// Its length, headers included.
        length: Bytes,
        /// When it was sent.
        sent: Instant,
    },
}

/// What a base station sends or receives for mobile hosts.
pub(crate) trait OfMobile: Crossing {
    /// The number of the mobile host that it comes from or goes to; none if it is no mobile host's.
    fn mobile(&self) -> Option<u16>;
}

impl OfMobile for Packet {
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

/// What a frame of the air carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried<P> {
    /// A packet; the number tells copies of one frame from the next frame (IEEE 802.11-1997 §9.2.9).
    Packet { number: u64, packet: P },
    /// Nothing: its acknowledgement is what it is sent for.
    Probe,
}

impl<P: Crossing> Carried<P> {
    /// Bytes besides the MAC's own.
    pub(crate) fn length(&self) -> Bytes {
        match self {
            Self::Packet { packet, .. } => packet.length(),
            Self::Probe => Bytes::ZERO,
        }
    }
}

/// Takes each frame of one sender once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Filter {
    next: u64,
}

impl Filter {
    /// The packet of a frame, if it is no copy of one that came.
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
