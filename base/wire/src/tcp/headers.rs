//! The IPv4 and TCP headers of a segment that is encoded.

use super::segment_options::ROOM as OPTION_ROOM;
use super::{HEADER_LENGTH, OptionBytes, TcpSegment};
use crate::checksum::{Sum, pseudo_header};
use crate::field::{write_u16, write_u32};
use crate::ip::{AtomicHeader, IPV4_HEADER_LENGTH, Protocol};

/// Largest payload with which a segment with any options still fits an IPv4 packet, in bytes.
pub const PAYLOAD_MAX: u16 = u16::MAX - 80;

/// Position of the addresses in an IPv4 header.
const ADDRESSES: usize = 12;
/// Largest length of the headers, in bytes.
const HEADERS_MAX: usize = IPV4_HEADER_LENGTH + HEADER_LENGTH + OPTION_ROOM;

/// The IPv4 and TCP headers of a segment.
pub(super) struct Headers {
    bytes: [u8; HEADERS_MAX],
    /// Length of both headers, in bytes.
    length: usize,
    /// Sum of the pseudo-header, which the checksum covers besides the segment.
    pseudo_header: Sum,
}

impl Headers {
    /// Returns the headers with a TCP checksum of zero.
    pub(super) fn of(segment: &TcpSegment) -> Self {
        assert!(
            segment.payload <= PAYLOAD_MAX,
            "{} bytes of data",
            segment.payload
        );
        let options = OptionBytes::of(&segment.options);
        let options = options.bytes();
        let length = HEADER_LENGTH + options.len();
        let ip = AtomicHeader {
            total_length: (IPV4_HEADER_LENGTH + length) as u16 + segment.payload,
            protocol: Protocol::TCP,
            source: *segment.source.ip(),
            destination: *segment.destination.ip(),
        };
        let mut bytes = [0; HEADERS_MAX];
        let ip = ip.emit();
        bytes[..IPV4_HEADER_LENGTH].copy_from_slice(&ip);
        let tcp = &mut bytes[IPV4_HEADER_LENGTH..][..length];
        write_u16(tcp, 0, segment.source.port());
        write_u16(tcp, 2, segment.destination.port());
        write_u32(tcp, super::SEQUENCE_NUMBER, segment.sequence.0);
        write_u32(tcp, super::ACKNOWLEDGMENT_NUMBER, segment.acknowledgment.0);
        tcp[super::DATA_OFFSET] = (length / 4 * 16) as u8;
        tcp[super::FLAGS] = segment.flags.0;
        write_u16(tcp, super::WINDOW, segment.window);
        tcp[HEADER_LENGTH..].copy_from_slice(options);
        Self {
            bytes,
            length: IPV4_HEADER_LENGTH + length,
            pseudo_header: pseudo_header(
                &ip[ADDRESSES..],
                Protocol::TCP,
                length + usize::from(segment.payload),
            ),
        }
    }

    /// Returns the headers with the sum of the pseudo-header as TCP checksum.
    pub(super) fn with_pseudo_header_checksum(mut self) -> Self {
        let checksum = IPV4_HEADER_LENGTH + super::CHECKSUM;
        write_u16(&mut self.bytes, checksum, self.pseudo_header.folded());
        self
    }

    /// Returns the bytes of both headers.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
