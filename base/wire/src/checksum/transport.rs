//! Checksums of TCP, UDP and ICMP inside IP packets, whole and partial.

use std::ops::Range;

use super::Sum;
use crate::field::{read_u16, write_u16};
use crate::ip::numbers::Version;
use crate::ip::{IpPacket, Layout, Transport};
use crate::malformed::Malformed;
use crate::{icmp, tcp, udp};

/// Position of a partial checksum: `csum_start` and `csum_offset` of the header that virtio-net devices and TUN
/// interfaces put before a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartialChecksum {
    /// Start of the sum, in bytes from the packet's first byte.
    pub start: u16,
    /// Position of the checksum field, in bytes from `start`.
    pub offset: u16,
}

/// The range that a transport checksum covers, and the position of its field.
struct Coverage {
    transport: Range<usize>,
    /// Position of the checksum field, in bytes from the transport's first byte.
    field: usize,
    pseudo_header: Sum,
}

impl Coverage {
    /// Returns the coverage, or `None` if the packet is a fragment or its protocol is not TCP, UDP or ICMP.
    fn of(packet: &IpPacket<'_>) -> Option<Self> {
        if packet.fragment().is_some() {
            return None;
        }
        let (length, field) = match packet.transport() {
            Transport::Tcp(tcp) => (tcp.bytes().len(), tcp::CHECKSUM),
            Transport::Udp(udp) => (udp.bytes().len(), udp::CHECKSUM),
            Transport::Icmp(icmp) => (icmp.bytes().len(), icmp::CHECKSUM),
            Transport::Fragment | Transport::Other(_) => return None,
        };
        let pseudo_header = match (packet.transport(), packet.version()) {
            (Transport::Icmp(_), Version::V4) => Sum::ZERO,
            _ => packet.pseudo_header(length),
        };
        let start = packet.header_length();
        Some(Self {
            transport: start..start + length,
            field,
            pseudo_header,
        })
    }

    fn place(&self) -> PartialChecksum {
        PartialChecksum {
            start: self.transport.start as u16,
            offset: self.field as u16,
        }
    }
}

impl PartialChecksum {
    /// Returns the place of the transport checksum in `packet`; `None` if it has none that we know.
    pub fn place_in(packet: &IpPacket<'_>) -> Option<Self> {
        Coverage::of(packet).map(|coverage| coverage.place())
    }
}

/// Returns true if the packet's transport checksum is right, or was left out as UDP over IPv4 may.
///
/// Also returns false if the checksum cannot be verified: for fragments, and for protocols other than TCP, UDP and
/// ICMP.
pub fn verify_transport_checksum(packet: &IpPacket<'_>) -> bool {
    let Some(coverage) = Coverage::of(packet) else {
        return false;
    };
    match packet.transport() {
        Transport::Udp(udp) if udp.checksum() == 0 => packet.version() == Version::V4,
        _ => (coverage.pseudo_header + Sum::of(&packet.bytes()[coverage.transport])).is_valid(),
    }
}

/// Computes the transport checksum of `packet` and stores it. Leaves fragments, and protocols other than TCP, UDP and
/// ICMP, unchanged.
pub fn fill_transport_checksum(packet: &mut [u8]) -> Result<(), Malformed> {
    let layout = IpPacket::parse(packet)?.layout();
    fill(packet, layout);
    Ok(())
}

/// Computes and stores the transport checksum of a packet that was checked when `layout` was found.
pub(crate) fn fill(packet: &mut [u8], layout: Layout) {
    if let Some(coverage) = Coverage::of(&IpPacket::new(packet, layout)) {
        let transport = &mut packet[coverage.transport];
        write_u16(transport, coverage.field, 0);
        let checksum = (coverage.pseudo_header + Sum::of(transport)).nonzero_checksum();
        write_u16(transport, coverage.field, checksum);
    }
}

/// Stores the sum of the pseudo-header as the transport checksum of a packet that was checked when `layout` was found.
/// Returns the place for the rest of the sum; `None` if a packet has no such checksum (as above).
///
/// Linux calls this `CHECKSUM_PARTIAL`: the receiver accepts the packet without adding it up, and a host that forwards
/// it to a wire completes it.
pub(crate) fn store_pseudo_header(packet: &mut [u8], layout: Layout) -> Option<PartialChecksum> {
    let coverage = Coverage::of(&IpPacket::new(packet, layout))?;
    let place = coverage.place();
    let field = &mut packet[coverage.transport];
    write_u16(field, coverage.field, coverage.pseudo_header.folded());
    Some(place)
}

/// Completes a partial checksum: adds up `packet` from `place.start` to its end, with the sum that is stored at
/// `place`, and stores the checksum there. `packet` has the length that its IP header gives.
pub fn complete_partial_checksum(
    packet: &mut [u8],
    place: PartialChecksum,
) -> Result<(), Malformed> {
    let (start, offset) = (usize::from(place.start), usize::from(place.offset));
    let available = packet.len();
    let Some(covered) = packet
        .get_mut(start..)
        .filter(|covered| covered.len() >= offset + 2)
    else {
        return Err(Malformed::ChecksumPlace {
            start,
            offset,
            available,
        });
    };
    let checksum = Sum::of(covered).nonzero_checksum();
    write_u16(covered, offset, checksum);
    Ok(())
}

/// Changes the 16-bit word at `at` of a header, whose checksum at `field` follows
/// (RFC 1624). A word at an odd place counts with its bytes swapped.
pub(crate) fn replace_word(transport: &mut [u8], field: usize, at: usize, new: u16) {
    let old = read_u16(transport, at);
    write_u16(transport, at, new);
    let (old, new) = if at.is_multiple_of(2) {
        (old, new)
    } else {
        (old.swap_bytes(), new.swap_bytes())
    };
    let checksum = super::updated(read_u16(transport, field), old, new);
    write_u16(transport, field, checksum);
}
