//! The header before each packet of a device with `IFF_VNET_HDR`: `virtio_net_hdr` of Virtual I/O Device 1.3 §5.1.6, in
//! the byte order of the machine, as in TUN devices.

use wire::checksum::PartialChecksum;
use wire::ip::{Protocol, Transport, Version};
use wire::packet::{Checksum, Packet};

/// Length of the header, in bytes.
pub(super) const LENGTH: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const DATA_VALID: u8 = 2;

const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
/// Flag beside the kind: the first segment carries CWR. Segmentation clears it in the others anyway.
const GSO_ECN: u8 = 0x80;

/// The fields of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Header {
    flags: u8,
    gso_kind: u8,
    headers: u16,
    segment_size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

/// Error for a header that does not match its packet, or uses an offload that was not enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidHeader;

impl Header {
    pub(super) fn parse(bytes: [u8; LENGTH]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            gso_kind: bytes[1],
            headers: word(2),
            segment_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    pub(super) fn bytes(self) -> [u8; LENGTH] {
        let mut bytes = [self.flags, self.gso_kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = [
            self.headers,
            self.segment_size,
            self.checksum_start,
            self.checksum_offset,
        ];
        for (at, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            at.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Applies the header to `packet`. A partial checksum of a protocol that only the kernel knows is completed, so
    /// that `Partial` always means a checksum that this crate can locate.
    pub(super) fn describe(self, packet: &mut Packet) -> Result<(), InvalidHeader> {
        if self.flags & NEEDS_CHECKSUM != 0 {
            self.describe_partial(packet)?;
        } else if self.flags & DATA_VALID != 0 {
            packet.checksum = Checksum::Verified;
        }
        let kind = self.gso_kind & !GSO_ECN;
        if kind == GSO_NONE {
            return Ok(());
        }
        let cut = Cut::of(packet).ok_or(InvalidHeader)?;
        if cut.gso_kind != kind || self.segment_size == 0 {
            return Err(InvalidHeader);
        }
        packet.segment_size = self.segment_size;
        Ok(())
    }

    fn describe_partial(self, packet: &mut Packet) -> Result<(), InvalidHeader> {
        let place = PartialChecksum {
            start: self.checksum_start,
            offset: self.checksum_offset,
        };
        if checksum_place(packet) == Some(place) {
            packet.checksum = Checksum::Partial;
            return Ok(());
        }
        packet.complete_checksum(place).map_err(|_| InvalidHeader)
    }

    /// Returns the header for `packet`, and prepares the packet's checksum field for it.
    ///
    /// A packet that stands for many always gets a partial checksum, since each segment has a checksum of its own.
    pub(super) fn for_packet(packet: &mut Packet) -> Result<Self, InvalidHeader> {
        let cut = match packet.segment_size {
            0 => None,
            size => Some(Cut::of(packet).ok_or(InvalidHeader)?).filter(|cut| cut.payload > size),
        };
        let mut header = Self::default();
        if let Some(cut) = cut {
            header.gso_kind = cut.gso_kind;
            header.headers = cut.headers;
            header.segment_size = packet.segment_size;
        }
        if packet.checksum == Checksum::Partial || cut.is_some() {
            // Its sum of the pseudo-header may be there already; then this writes the same again.
            let place = packet.store_pseudo_header_checksum().ok_or(InvalidHeader)?;
            header.flags = NEEDS_CHECKSUM;
            header.checksum_start = place.start;
            header.checksum_offset = place.offset;
        } else if packet.checksum == Checksum::Verified {
            header.flags = DATA_VALID;
        }
        Ok(header)
    }

    /// Returns true if the packet is a train of UDP datagrams, which kernels before 6.2 do not accept.
    pub(super) fn is_udp_train(self) -> bool {
        self.gso_kind == GSO_UDP
    }
}

/// The values that segmentation needs.
#[derive(Debug, Clone, Copy)]
struct Cut {
    gso_kind: u8,
    /// Length of the IP and transport headers, in bytes.
    headers: u16,
    /// Length of the payload, in bytes.
    payload: u16,
}

impl Cut {
    /// Nothing unless `packet` is a whole TCP segment or UDP datagram.
    fn of(packet: &Packet) -> Option<Self> {
        let packet = packet.ip()?;
        if packet.fragment().is_some() {
            return None;
        }
        let (gso_kind, transport_header) = match (packet.transport(), packet.version()) {
            (Transport::Tcp(tcp), Version::V4) => (GSO_TCP4, tcp.header_length()),
            (Transport::Tcp(tcp), Version::V6) => (GSO_TCP6, tcp.header_length()),
            (Transport::Udp(_), _) => (GSO_UDP, wire::udp::HEADER_LENGTH),
            _ => return None,
        };
        let header_length = packet.header_length() + transport_header;
        Some(Self {
            gso_kind,
            headers: u16::try_from(header_length).ok()?,
            payload: u16::try_from(packet.bytes().len().checked_sub(header_length)?).ok()?,
        })
    }
}

/// Where the checksum of a whole TCP segment or UDP datagram lies.
fn checksum_place(packet: &Packet) -> Option<PartialChecksum> {
    let packet = packet.ip()?;
    let is_known = matches!(packet.protocol(), Protocol::TCP | Protocol::UDP);
    PartialChecksum::place_in(&packet).filter(|_| is_known)
}

#[cfg(test)]
mod tests;
