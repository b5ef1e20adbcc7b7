//! The header before each frame in a capture of the hop (`docs/hop-frame.md`, "In captures").

use std::net::SocketAddr;

use crate::address::HopAddress;
use crate::ip::Ecn;

/// The version of the header that this code writes.
const VERSION: u8 = 1;
/// Length of the longest name, in bytes; of a longer one the header has the beginning.
const NAME_MAX: usize = u8::MAX as usize;
/// Length of the longest header, in bytes: its fixed part, an IPv6 address with a port, and a name.
pub const CAPTURE_HEADER_MAX: usize = 10 + 18 + NAME_MAX;

/// Kinds of addresses.
const NO_ADDRESS: u8 = 0;
const ETHERNET: u8 = 1;
const IPV4: u8 = 4;
const IPV6: u8 = 6;
const TLS_IPV4: u8 = 20;
const TLS_IPV6: u8 = 22;

/// What follows the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureKind {
    /// The plaintext of a datagram: a frame, or a message in place of one.
    Plaintext = 1,
    /// A datagram of the session, as it is on the wire: a handshake message, or one that ends or probes a session.
    Datagram = 2,
}

/// Direction, as the host sees it that captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureDirection {
    /// To this host.
    Inbound = 1,
    /// From this host.
    Outbound = 2,
}

/// The header of one captured frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureHeader<'a> {
    /// Kind of what follows.
    pub kind: CaptureKind,
    /// Its direction.
    pub direction: CaptureDirection,
    /// ECN field of the datagram's IP header.
    pub ecn: Ecn,
    /// Number of the association with the peer since this host's start. Transmission numbers count from 0 in each.
    pub association: u32,
    /// Address of the other end, if the datagram has one.
    pub address: Option<HopAddress>,
    /// Name of the peer; empty if it is not known.
    pub peer: &'a str,
}

impl CaptureHeader<'_> {
    /// Appends the header to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let name = self.peer.as_bytes();
        let name = &name[..name.len().min(NAME_MAX)];
        let (kind, direction) = (self.kind as u8, self.direction as u8);
        out.extend([VERSION, kind, direction, self.ecn.bits()]);
        out.extend(self.association.to_be_bytes());
        out.extend([address_kind(self.address), name.len() as u8]);
        match self.address {
            None | Some(HopAddress::Relay(_)) => {}
            Some(HopAddress::Ethernet(address)) => out.extend(address.0),
            Some(
                HopAddress::Udp(SocketAddr::V4(address)) | HopAddress::Tls(SocketAddr::V4(address)),
            ) => {
                out.extend(address.ip().octets());
                out.extend(address.port().to_be_bytes());
            }
            Some(
                HopAddress::Udp(SocketAddr::V6(address)) | HopAddress::Tls(SocketAddr::V6(address)),
            ) => {
                out.extend(address.ip().octets());
                out.extend(address.port().to_be_bytes());
            }
        }
        out.extend(name);
    }
}

fn address_kind(address: Option<HopAddress>) -> u8 {
    match address {
        None | Some(HopAddress::Relay(_)) => NO_ADDRESS,
        Some(HopAddress::Ethernet(_)) => ETHERNET,
        Some(HopAddress::Udp(SocketAddr::V4(_))) => IPV4,
        Some(HopAddress::Udp(SocketAddr::V6(_))) => IPV6,
        Some(HopAddress::Tls(SocketAddr::V4(_))) => TLS_IPV4,
        Some(HopAddress::Tls(SocketAddr::V6(_))) => TLS_IPV6,
    }
}
