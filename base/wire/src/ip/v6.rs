//! IPv6 headers and the extension headers behind them (RFC 8200, RFC 4302 for authentication).

use std::net::Ipv6Addr;

use super::{Fragment, Kind, Layout, Protocol, Version};
use crate::field::{read_array, read_u16, read_u32, write_u16};
use crate::malformed::{Header, Malformed, require};

/// The length of the fixed header, in bytes.
pub const HEADER_LENGTH: usize = 40;

const PAYLOAD_LENGTH: usize = 4;
pub(super) const HOP_LIMIT: usize = 7;
const SOURCE: usize = 8;
const DESTINATION: usize = 24;

/// Smallest length of an extension header that is skipped, in bytes.
const SHORTEST_EXTENSION: usize = 8;

/// A checked view of an IPv6 packet; bytes beyond its length are left out.
#[derive(Debug, Clone, Copy)]
pub struct Ipv6View<'a> {
    bytes: &'a [u8],
    layout: Layout,
}

impl<'a> Ipv6View<'a> {
    /// Checks version and lengths, and walks over the extension headers.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_header(bytes)?;
        let length = HEADER_LENGTH + usize::from(read_u16(bytes, PAYLOAD_LENGTH));
        if length > bytes.len() {
            let available = bytes.len();
            return Err(Malformed::TotalLength {
                header: Header::Ipv6,
                length,
                available,
            });
        }
        let bytes = &bytes[..length];
        let layout = walk(bytes)?;
        Ok(Self { bytes, layout })
    }

    /// Checks the headers of a packet that may be cut after them.
    pub(super) fn parse_beginning(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_header(bytes)?;
        let layout = walk(bytes)?;
        Ok(Self { bytes, layout })
    }

    /// Returns a view of a packet that was checked when `layout` was found.
    pub(super) fn new(bytes: &'a [u8], layout: Layout) -> Self {
        Self { bytes, layout }
    }

    /// Returns the positions of the packet's parts.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the packet, headers included, without trailing bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the length of the header with the extension headers that were skipped, in bytes.
    pub fn header_length(&self) -> usize {
        self.layout.header_length as usize
    }

    /// Returns the traffic class: DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        (read_u16(self.bytes, 0) >> 4) as u8
    }

    /// Returns the position of this fragment in its datagram; `None` for a whole datagram, even if it carries the
    /// header of an "atomic" fragment (RFC 6946).
    pub fn fragment(&self) -> Option<Fragment> {
        self.layout.fragment
    }

    /// Returns the remaining hop count.
    pub fn hop_limit(&self) -> u8 {
        self.bytes[HOP_LIMIT]
    }

    /// Returns the protocol of the payload after the extension headers that were skipped. A routing header with
    /// segments left is not skipped: the checksum behind it does not cover the destination in the header.
    pub fn protocol(&self) -> Protocol {
        self.layout.protocol
    }

    /// Returns the sender's address.
    pub fn source(&self) -> Ipv6Addr {
        read_array::<16>(self.bytes, SOURCE).into()
    }

    /// Returns the receiver's address.
    pub fn destination(&self) -> Ipv6Addr {
        read_array::<16>(self.bytes, DESTINATION).into()
    }

    /// Returns source and destination as they stand in the header.
    pub(crate) fn addresses(&self) -> &'a [u8] {
        &self.bytes[SOURCE..HEADER_LENGTH]
    }
}

/// Walks over the extension headers of a packet. Each step takes at least eight bytes off it, which limits the walk.
fn walk(bytes: &[u8]) -> Result<Layout, Malformed> {
    let (mut protocol, mut end) = (Protocol(bytes[6]), HEADER_LENGTH);
    let mut found: Option<Fragment> = None;
    while protocol.is_ipv6_extension() && found.is_none_or(|fragment| fragment.offset == 0) {
        let rest = &bytes[end..];
        require(Header::Ipv6Extension, rest, SHORTEST_EXTENSION)?;
        let needed = match protocol {
            Protocol::IPV6_ROUTING if rest[3] != 0 => break,
            Protocol::IPV6_FRAGMENT => SHORTEST_EXTENSION,
            Protocol::AUTHENTICATION => (usize::from(rest[1]) + 2) * 4,
            _ => (usize::from(rest[1]) + 1) * 8,
        };
        require(Header::Ipv6Extension, rest, needed)?;
        if protocol == Protocol::IPV6_FRAGMENT {
            found = fragment(rest);
        }
        protocol = Protocol(rest[0]);
        end += needed;
    }
    Ok(Layout {
        version: Version::V6,
        protocol,
        kind: Kind::Other,
        fragment: found,
        header_length: end as u32,
        length: bytes.len() as u32,
    })
}

fn fragment(header: &[u8]) -> Option<Fragment> {
    let field = read_u16(header, 2);
    let (offset, more) = (field & !7, field & 1 != 0);
    (offset != 0 || more).then(|| Fragment {
        offset,
        more,
        identification: read_u32(header, 4),
        protocol: Protocol(header[0]),
    })
}

/// Sets the payload length of a checked header, so that the whole packet has `length` bytes.
pub(super) fn write_length(header: &mut [u8], length: usize) {
    write_u16(header, PAYLOAD_LENGTH, (length - HEADER_LENGTH) as u16);
}

fn check_header(bytes: &[u8]) -> Result<(), Malformed> {
    require(Header::Ipv6, bytes, HEADER_LENGTH)?;
    let version = bytes[0] >> 4;
    if version != 6 {
        return Err(Malformed::Version {
            header: Header::Ipv6,
            version,
        });
    }
    Ok(())
}

/// Returns a header without extension headers.
pub(crate) struct PlainHeader {
    pub(crate) payload_length: u16,
    pub(crate) protocol: Protocol,
    pub(crate) source: Ipv6Addr,
    pub(crate) destination: Ipv6Addr,
}

impl PlainHeader {
    /// Returns the header's bytes.
    pub(crate) fn emit(&self) -> [u8; HEADER_LENGTH] {
        let mut header = [0; HEADER_LENGTH];
        header[0] = 0x60;
        write_u16(&mut header, PAYLOAD_LENGTH, self.payload_length);
        header[6] = self.protocol.0;
        header[7] = super::INITIAL_TIME_TO_LIVE;
        header[SOURCE..DESTINATION].copy_from_slice(&self.source.octets());
        header[DESTINATION..].copy_from_slice(&self.destination.octets());
        header
    }
}
