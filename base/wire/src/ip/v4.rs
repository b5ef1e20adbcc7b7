//! IPv4 headers (RFC 791, RFC 6864 for the identification).

use std::net::Ipv4Addr;

use super::{Fragment, Kind, Layout, Protocol, Version};
use crate::checksum::Sum;
use crate::field::{read_array, read_u16, write_u16};
use crate::malformed::{Header, Malformed, require};

/// Length of a header without options, in bytes.
pub const HEADER_LENGTH: usize = 20;

const TOTAL_LENGTH: usize = 2;
const IDENTIFICATION: usize = 4;
const FRAGMENT: usize = 6;
pub(super) const TIME_TO_LIVE: usize = 8;
pub(super) const CHECKSUM: usize = 10;
const SOURCE: usize = 12;
const DESTINATION: usize = 16;

const DO_NOT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET_MASK: u16 = 0x1fff;

/// A checked view of an IPv4 packet; bytes beyond its total length are left out.
#[derive(Debug, Clone, Copy)]
pub struct Ipv4View<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv4View<'a> {
    /// Checks version and lengths. It does not verify the header's checksum.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let header_length = check_header(bytes)?;
        let length = usize::from(read_u16(bytes, TOTAL_LENGTH));
        if length < header_length || length > bytes.len() {
            let available = bytes.len();
            return Err(Malformed::TotalLength {
                header: Header::Ipv4,
                length,
                available,
            });
        }
        Ok(Self {
            bytes: &bytes[..length],
        })
    }

    /// Checks version and header length of a packet that may be cut after its header.
    pub(super) fn parse_beginning(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_header(bytes)?;
        Ok(Self { bytes })
    }

    /// Returns a view of a packet that was checked before.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the positions of the packet's parts.
    pub(super) fn layout(&self) -> Layout {
        Layout {
            version: Version::V4,
            protocol: self.protocol(),
            kind: Kind::Other,
            fragment: self.fragment(),
            header_length: self.header_length() as u32,
            length: self.bytes.len() as u32,
        }
    }

    /// Returns the packet, header included, without trailing bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the length of the header with its options, in bytes.
    pub fn header_length(&self) -> usize {
        usize::from(self.bytes[0] & 0xf) * 4
    }

    /// Returns the type of service: DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        self.bytes[1]
    }

    /// Returns the identification of the datagram that a fragment belongs to; it has no meaning for other packets.
    pub fn identification(&self) -> u16 {
        read_u16(self.bytes, IDENTIFICATION)
    }

    /// Returns true if routers must not fragment the packet.
    pub fn do_not_fragment(&self) -> bool {
        read_u16(self.bytes, FRAGMENT) & DO_NOT_FRAGMENT != 0
    }

    /// Returns the position of this fragment in its datagram; `None` for a whole datagram.
    pub fn fragment(&self) -> Option<Fragment> {
        let field = read_u16(self.bytes, FRAGMENT);
        (field & (MORE_FRAGMENTS | OFFSET_MASK) != 0).then(|| Fragment {
            offset: (field & OFFSET_MASK) << 3,
            more: field & MORE_FRAGMENTS != 0,
            identification: self.identification().into(),
            protocol: self.protocol(),
        })
    }

    /// Returns the remaining hop count.
    pub fn time_to_live(&self) -> u8 {
        self.bytes[TIME_TO_LIVE]
    }

    /// Returns the protocol of the payload.
    pub fn protocol(&self) -> Protocol {
        Protocol(self.bytes[9])
    }

    /// Returns true if the header's checksum is right.
    pub fn header_checksum_is_valid(&self) -> bool {
        Sum::of(&self.bytes[..self.header_length()]).is_valid()
    }

    /// Returns the sender's address.
    pub fn source(&self) -> Ipv4Addr {
        read_array::<4>(self.bytes, SOURCE).into()
    }

    /// Returns the receiver's address.
    pub fn destination(&self) -> Ipv4Addr {
        read_array::<4>(self.bytes, DESTINATION).into()
    }

    /// Returns source and destination as they stand in the header.
    pub(crate) fn addresses(&self) -> &'a [u8] {
        &self.bytes[SOURCE..HEADER_LENGTH]
    }
}

/// A checked IPv4 header that can be changed.
#[derive(Debug)]
pub struct Ipv4Mut<'a> {
    header: &'a mut [u8],
}

impl<'a> Ipv4Mut<'a> {
    /// Checks version and header length; the caller sets the total length.
    pub fn parse(bytes: &'a mut [u8]) -> Result<Self, Malformed> {
        let header_length = check_header(bytes)?;
        Ok(Self {
            header: &mut bytes[..header_length],
        })
    }

    /// Sets the length of header and payload, in bytes. It does not update the checksum.
    pub fn set_total_length(&mut self, length: u16) {
        write_u16(self.header, TOTAL_LENGTH, length);
    }

    /// Sets the identification. It does not update the checksum.
    pub fn set_identification(&mut self, identification: u16) {
        write_u16(self.header, IDENTIFICATION, identification);
    }

    /// Computes the header's checksum and stores it.
    pub fn fill_header_checksum(&mut self) {
        write_u16(self.header, CHECKSUM, 0);
        write_u16(self.header, CHECKSUM, Sum::of(self.header).checksum());
    }
}

/// Sets the total length of a checked header, adds `packets` to its identification, and computes its checksum.
pub(super) fn write_length(header: &mut [u8], length: u16, packets: u16) {
    let identification = read_u16(header, IDENTIFICATION).wrapping_add(packets);
    let mut header = Ipv4Mut { header };
    header.set_total_length(length);
    header.set_identification(identification);
    header.fill_header_checksum();
}

/// The header's length, where version and length are possible.
fn check_header(bytes: &[u8]) -> Result<usize, Malformed> {
    require(Header::Ipv4, bytes, HEADER_LENGTH)?;
    let version = bytes[0] >> 4;
    if version != 4 {
        return Err(Malformed::Version {
            header: Header::Ipv4,
            version,
        });
    }
    let length = usize::from(bytes[0] & 0xf) * 4;
    if length < HEADER_LENGTH {
        return Err(Malformed::HeaderLength {
            header: Header::Ipv4,
            length,
        });
    }
    require(Header::Ipv4, bytes, length)?;
    Ok(length)
}

/// Returns a header without options for a whole datagram that must not be fragmented.
pub(crate) struct AtomicHeader {
    pub(crate) total_length: u16,
    pub(crate) protocol: Protocol,
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
}

impl AtomicHeader {
    /// Returns the header's bytes, checksum included.
    pub(crate) fn emit(&self) -> [u8; HEADER_LENGTH] {
        let mut header = [0; HEADER_LENGTH];
        header[0] = 0x45;
        write_u16(&mut header, TOTAL_LENGTH, self.total_length);
        write_u16(&mut header, FRAGMENT, DO_NOT_FRAGMENT);
        header[8] = super::INITIAL_TIME_TO_LIVE;
        header[9] = self.protocol.0;
        header[SOURCE..DESTINATION].copy_from_slice(&self.source.octets());
        header[DESTINATION..].copy_from_slice(&self.destination.octets());
        let checksum = Sum::of(&header).checksum();
        write_u16(&mut header, CHECKSUM, checksum);
        header
    }
}
