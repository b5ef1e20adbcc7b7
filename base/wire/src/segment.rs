//! Segmentation in software, for systems without the kernel's offload: it cuts a TCP or UDP packet that stands for many
//! packets into those packets.

use std::ops::Range;

use units::SeqNumber;

use crate::field::{write_u16, write_u32};
use crate::ip::{IpPacket, Layout, Protocol, Transport, Version};
use crate::packet::{HEADROOM, Packet, PacketBuffer};
use crate::tcp::TcpFlags;
use crate::{checksum, tcp, udp};

/// Reason why a packet cannot be cut into segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Only whole datagrams can be cut.
    #[error("a fragment cannot be cut into segments")]
    Fragment,
    /// Only TCP and UDP are cut.
    #[error("protocol {} cannot be cut into segments, only TCP and UDP can", .0.0)]
    Protocol(Protocol),
}

/// The fields that change from segment to segment.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Tcp {
        sequence_number: SeqNumber,
        flags: TcpFlags,
    },
    Udp {
        with_checksum: bool,
    },
}

/// The segments of one packet.
///
/// Each has all headers of the packet, and its own part of the payload. IPv4 identifications and TCP sequence numbers
/// increase; FIN and PSH go with the last segment, CWR with the first (RFC 3168 §6.1.2); each segment has its own
/// lengths and checksums, whatever the packet's checksums were.
#[derive(Debug, Clone, Copy)]
pub struct Segments<'a> {
    /// Layout of the packet.
    layout: Layout,
    headers: &'a [u8],
    payload: &'a [u8],
    segment_size: usize,
    transport: usize,
    kind: Kind,
}

impl<'a> Segments<'a> {
    /// Cuts `packet` into segments of `segment_size` bytes of payload, the last maybe shorter. With
    /// a size of 0 the packet is its own only segment.
    pub fn of(packet: &IpPacket<'a>, segment_size: u16) -> Result<Self, SegmentError> {
        if packet.fragment().is_some() {
            return Err(SegmentError::Fragment);
        }
        let (kind, header_length, transport) = match packet.transport() {
            Transport::Tcp(tcp) => {
                let (sequence_number, flags) = (tcp.sequence_number(), tcp.flags());
                (
                    Kind::Tcp {
                        sequence_number,
                        flags,
                    },
                    tcp.header_length(),
                    tcp.bytes(),
                )
            }
            Transport::Udp(udp) => {
                // Over IPv6 it must be there (RFC 8200 §8.1).
                let with_checksum = udp.checksum() != 0 || packet.version() == Version::V6;
                (Kind::Udp { with_checksum }, udp::HEADER_LENGTH, udp.bytes())
            }
            _ => return Err(SegmentError::Protocol(packet.protocol())),
        };
        let payload = &transport[header_length..];
        Ok(Self {
            layout: packet.layout(),
            headers: &packet.bytes()[..packet.header_length() + header_length],
            payload,
            segment_size: if segment_size == 0 {
                payload.len().max(1)
            } else {
                segment_size.into()
            },
            transport: packet.header_length(),
            kind,
        })
    }

    /// Returns the number of segments: at least one.
    pub fn count(&self) -> usize {
        self.payload.len().div_ceil(self.segment_size).max(1)
    }

    /// Returns the length of segment `index` with its headers, in bytes.
    ///
    /// # Panics
    /// If `index` is not below [`Segments::count`].
    pub fn length(&self, index: usize) -> usize {
        self.headers.len() + self.part(index).len()
    }

    fn part(&self, index: usize) -> Range<usize> {
        assert!(index < self.count(), "segment {index} of {}", self.count());
        let start = index * self.segment_size;
        start..self.payload.len().min(start + self.segment_size)
    }

    /// Writes segment `index` to the front of `into` and returns its length, in bytes.
    ///
    /// # Panics
    /// If `index` is not below [`Segments::count`], or `into` is shorter than the segment.
    pub fn write(&self, index: usize, into: &mut [u8]) -> usize {
        let segment = &mut into[..self.length(index)];
        let (headers, payload) = segment.split_at_mut(self.headers.len());
        headers.copy_from_slice(self.headers);
        payload.copy_from_slice(&self.payload[self.part(index)]);
        let length = segment.len();
        self.adapt(index, segment);
        length
    }

    /// Returns segment `index`, with [`HEADROOM`] before it.
    ///
    /// # Panics
    /// If `index` is not below [`Segments::count`].
    pub fn packet(&self, index: usize) -> Packet {
        let length = self.length(index);
        let mut buffer = PacketBuffer::with_room(HEADROOM + length, HEADROOM);
        self.write(index, buffer.grow(length));
        Packet::checked(buffer, self.layout.with_length(length))
    }

    fn adapt(&self, index: usize, segment: &mut [u8]) {
        let layout = self.layout.with_length(segment.len());
        layout.write_length(segment, index as u16);
        let transport = &mut segment[self.transport..];
        match self.kind {
            Kind::Tcp {
                sequence_number,
                flags,
            } => {
                let number = sequence_number + (index * self.segment_size) as u32;
                write_u32(transport, tcp::SEQUENCE_NUMBER, number.0);
                transport[tcp::FLAGS] = self.flags(flags, index).0;
            }
            Kind::Udp { with_checksum } => {
                let length = transport.len() as u16;
                write_u16(transport, udp::LENGTH, length);
                if !with_checksum {
                    return;
                }
            }
        }
        checksum::fill(segment, layout);
    }

    fn flags(&self, flags: TcpFlags, index: usize) -> TcpFlags {
        let later = if index > 0 {
            TcpFlags::CWR
        } else {
            TcpFlags::NONE
        };
        let more = index + 1 < self.count();
        let earlier = if more {
            TcpFlags::FIN | TcpFlags::PSH
        } else {
            TcpFlags::NONE
        };
        flags.without(later | earlier)
    }
}
