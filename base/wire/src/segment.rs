//! Segmentation in software, for systems without the kernel's offload: it cuts a TCP or UDP packet that stands for many
//! packets into those packets.

use std::ops::Range;

use units::SeqNumber;

use crate::checksum::fill_transport_checksum;
use crate::ip::{IPV6_HEADER_LENGTH, IpPacket, IpView, Ipv4Mut, Ipv6Mut, Protocol, Transport};
use crate::malformed::Malformed;
use crate::tcp::{TcpFlags, TcpMut};
use crate::udp::{self, UdpMut};

/// Reason why a packet cannot be cut into segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// It is not a packet.
    #[error(transparent)]
    Malformed(#[from] Malformed),
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
    headers: &'a [u8],
    payload: &'a [u8],
    segment_size: usize,
    ip_header_length: usize,
    identification: Option<u16>,
    kind: Kind,
}

impl<'a> Segments<'a> {
    /// Cuts `packet` into segments of `segment_size` bytes of payload; the last may be shorter. With a size of 0 the
    /// packet is its only segment.
    pub fn of(packet: &'a [u8], segment_size: u16) -> Result<Self, SegmentError> {
        let packet = IpPacket::parse(packet)?;
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
                let with_checksum = udp.checksum() != 0;
                (Kind::Udp { with_checksum }, udp::HEADER_LENGTH, udp.bytes())
            }
            _ => return Err(SegmentError::Protocol(packet.protocol())),
        };
        let payload = &transport[header_length..];
        Ok(Self {
            headers: &packet.bytes()[..packet.header_length() + header_length],
            payload,
            segment_size: if segment_size == 0 {
                payload.len().max(1)
            } else {
                segment_size.into()
            },
            ip_header_length: packet.header_length(),
            identification: match packet.view() {
                IpView::V4(view) => Some(view.identification()),
                IpView::V6(_) => None,
            },
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
        self.adapt(index, segment)
            .expect("the headers were checked when the packet was cut");
        length
    }

    fn adapt(&self, index: usize, segment: &mut [u8]) -> Result<(), Malformed> {
        let length = segment.len();
        let (ip, transport) = segment.split_at_mut(self.ip_header_length);
        if let Some(first) = self.identification {
            let mut header = Ipv4Mut::parse(ip)?;
            header.set_total_length(length as u16);
            header.set_identification(first.wrapping_add(index as u16));
            header.fill_header_checksum();
        } else {
            Ipv6Mut::parse(ip)?.set_payload_length((length - IPV6_HEADER_LENGTH) as u16);
        }
        match self.kind {
            Kind::Tcp {
                sequence_number,
                flags,
            } => {
                let mut header = TcpMut::parse(transport)?;
                header.set_sequence_number(sequence_number + (index * self.segment_size) as u32);
                header.set_flags(self.flags(flags, index));
            }
            Kind::Udp { with_checksum } => {
                let datagram_length = transport.len() as u16;
                UdpMut::parse(transport)?.set_length(datagram_length);
                if !with_checksum && self.identification.is_some() {
                    return Ok(());
                }
            }
        }
        fill_transport_checksum(segment)
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
