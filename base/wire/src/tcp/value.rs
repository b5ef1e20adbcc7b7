//! A TCP segment over IPv4 as a value, for the exchange between simulated hosts.

use std::net::SocketAddrV4;

use units::SeqNumber;

use super::content;
use super::headers::Headers;
use super::{HEADER_LENGTH, SeqRange, TcpFlags, TcpSegmentOptions};
use crate::checksum::{fill_transport_checksum, verify_transport_checksum};
use crate::ip::{IPV4_HEADER_LENGTH, IpPacket, IpView, Transport};
use crate::malformed::Malformed;

/// A TCP segment with its addresses. Its data are not stored: each byte is computed from its sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSegment {
    /// Address of the sender.
    pub source: SocketAddrV4,
    /// Address of the receiver.
    pub destination: SocketAddrV4,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: SeqNumber,
    /// Sequence number that the sender expects next; valid with [`TcpFlags::ACK`] only.
    pub acknowledgment: SeqNumber,
    /// The control bits.
    pub flags: TcpFlags,
    /// The receive window as it stands in the header, before scaling.
    pub window: u16,
    /// Bytes of data, at most [`PAYLOAD_MAX`](crate::tcp::PAYLOAD_MAX).
    pub payload: u16,
    /// The options.
    pub options: TcpSegmentOptions,
}

/// Reason why bytes are no [`TcpSegment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTcpSegment {
    /// They are not a packet.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// They are a packet of another kind.
    #[error("not a whole TCP segment over IPv4")]
    Other,
    /// A checksum is wrong.
    #[error("wrong checksum in the {0} header")]
    Checksum(&'static str),
}

impl TcpSegment {
    /// Returns the sequence numbers of the data.
    pub fn payload_range(&self) -> SeqRange {
        let syn = u32::from(self.flags.contains(TcpFlags::SYN));
        SeqRange::of(self.sequence + syn, self.payload.into())
    }

    /// Returns the count of sequence numbers that the segment takes: its data, SYN and FIN.
    pub fn sequence_length(&self) -> u32 {
        u32::from(self.payload) + self.flags.sequence_length()
    }

    /// Returns the length of the IPv4 packet, headers included, in bytes: the load of a link before framing.
    pub fn packet_length(&self) -> usize {
        IPV4_HEADER_LENGTH + HEADER_LENGTH + self.options.length() + usize::from(self.payload)
    }

    /// Returns the byte of the stream at `number`; every encoded segment carries these bytes. The byte depends on all
    /// bits of the number, so that a misplaced byte is detected.
    pub const fn content(number: SeqNumber) -> u8 {
        content::byte(number)
    }

    /// Encodes the segment as an IPv4 packet with right checksums.
    ///
    /// # Panics
    /// If `into` is not [`packet_length`](Self::packet_length) bytes long, or the payload is more than
    /// [`PAYLOAD_MAX`](crate::tcp::PAYLOAD_MAX).
    pub fn encode(&self, into: &mut [u8]) {
        assert_eq!(into.len(), self.packet_length(), "room for one segment");
        let headers = Headers::of(self);
        let (start, payload) = into.split_at_mut(headers.bytes().len());
        start.copy_from_slice(headers.bytes());
        content::fill(self.payload_range().start, payload);
        let filled = fill_transport_checksum(into);
        debug_assert_eq!(filled, Ok(()), "our own packet can be read");
    }

    /// Writes the first bytes of the packet, as many as fit in `into`, for a capture. If data are left out, the TCP
    /// checksum is the sum of the pseudo-header alone, as in captures on hosts whose network interface completes it:
    /// the complete checksum would need a pass over the data.
    ///
    /// # Panics
    /// If `into` is longer than [`packet_length`](Self::packet_length), or the payload is more than
    /// [`PAYLOAD_MAX`](crate::tcp::PAYLOAD_MAX).
    pub fn encode_head(&self, into: &mut [u8]) {
        if into.len() == self.packet_length() {
            return self.encode(into);
        }
        assert!(into.len() < self.packet_length(), "a part of one segment");
        let headers = Headers::of(self).with_pseudo_header_checksum();
        let headers = headers.bytes();
        let (start, payload) = into.split_at_mut(headers.len().min(into.len()));
        start.copy_from_slice(&headers[..start.len()]);
        content::fill(self.payload_range().start, payload);
    }

    /// Returns the segment in an IPv4 packet, and true if its data are the content of the stream at its sequence
    /// number. It leaves out the urgent pointer, and options that have no place in the value.
    pub fn parse(bytes: &[u8]) -> Result<(Self, bool), NoTcpSegment> {
        let packet = IpPacket::parse(bytes)?;
        let (IpView::V4(ip), Transport::Tcp(tcp)) = (packet.view(), packet.transport()) else {
            return Err(NoTcpSegment::Other);
        };
        if !ip.header_checksum_is_valid() {
            return Err(NoTcpSegment::Checksum("IPv4"));
        }
        if !verify_transport_checksum(&packet) {
            return Err(NoTcpSegment::Checksum("TCP"));
        }
        let (options, _) = TcpSegmentOptions::read(&tcp)?;
        let segment = Self {
            source: SocketAddrV4::new(ip.source(), tcp.source_port()),
            destination: SocketAddrV4::new(ip.destination(), tcp.destination_port()),
            sequence: tcp.sequence_number(),
            acknowledgment: tcp.acknowledgment_number(),
            flags: tcp.flags(),
            window: tcp.window(),
            payload: tcp.payload().len() as u16,
            options,
        };
        let start = segment.payload_range().start;
        Ok((segment, content::matches(start, tcp.payload())))
    }
}
