//! ICMP errors that answer a packet.

use std::net::IpAddr;

use super::{CHECKSUM, HEADER_LENGTH};
use crate::checksum::Sum;
use crate::field::{write_u16, write_u32};
use crate::ip::numbers::Protocol;
use crate::ip::{
    AtomicHeader, IPV4_HEADER_LENGTH, IPV6_HEADER_LENGTH, IpPacket, IpView, Ipv4View, Ipv6View,
    PlainHeader, Transport,
};
use crate::packet::{HEADROOM, PacketBuffer};

/// The longest answer over IPv4 (RFC 1812 §4.3.2.3), in bytes.
const LONGEST_IPV4: usize = 576;
/// The longest answer over IPv6 (RFC 4443 §2.4): the smallest MTU that IPv6 allows, in bytes.
const LONGEST_IPV6: usize = 1280;

/// Returns the ICMP packet that reports to the sender of `original` that a link takes packets of at most `mtu` bytes,
/// with as much of `original` as fits. Its source is the destination of `original`: the hop need not have an address
/// that the sender can reach.
///
/// `None` if no answer is allowed: for ICMP errors, fragments other than the first, addresses that are not those of a
/// single host (RFC 1122 §3.2.2, RFC 4443 §2.4), and IPv4 packets that may be fragmented instead.
pub fn packet_too_big(original: &IpPacket<'_>, mtu: u32) -> Option<PacketBuffer> {
    if !may_be_answered(original) {
        return None;
    }
    let mut message = [0; HEADER_LENGTH];
    match original.view() {
        IpView::V4(view) => view.do_not_fragment().then(|| {
            message[..2].copy_from_slice(&[3, 4]);
            write_u16(&mut message, 6, u16::try_from(mtu).unwrap_or(u16::MAX));
            answer_v4(&view, message)
        }),
        IpView::V6(view) => {
            message[0] = 2;
            write_u32(&mut message, 4, mtu);
            Some(answer_v6(&view, message))
        }
    }
}

/// The part that cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachable {
    /// There is no route.
    Network,
    /// The host does not answer its neighbours.
    Host,
    /// The administrator prohibits it.
    Prohibited,
}

/// Returns the ICMP packet that reports to the sender of `original` what could not be reached, with the same source and
/// under the same conditions as [`packet_too_big`] (RFC 792; RFC 1812 §5.2.7.1; RFC 4443 §3.1).
pub fn unreachable(original: &IpPacket<'_>, what: Unreachable) -> Option<PacketBuffer> {
    if !may_be_answered(original) {
        return None;
    }
    let mut message = [0; HEADER_LENGTH];
    Some(match original.view() {
        IpView::V4(view) => {
            let code = match what {
                Unreachable::Network => 0,
                Unreachable::Host => 1,
                Unreachable::Prohibited => 13,
            };
            message[..2].copy_from_slice(&[3, code]);
            answer_v4(&view, message)
        }
        IpView::V6(view) => {
            let code = match what {
                Unreachable::Network => 0,
                Unreachable::Host => 3,
                Unreachable::Prohibited => 1,
            };
            message[..2].copy_from_slice(&[1, code]);
            answer_v6(&view, message)
        }
    })
}

fn may_be_answered(original: &IpPacket<'_>) -> bool {
    let is_first = match original.transport() {
        Transport::Icmp(icmp) => !icmp.is_error(),
        Transport::Fragment => false,
        _ => true,
    };
    is_first && is_host(original.source()) && is_host(original.destination())
}

fn is_host(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(broadcast || address.is_multicast() || address.is_unspecified())
}

fn answer_v4(original: &Ipv4View<'_>, message: [u8; HEADER_LENGTH]) -> PacketBuffer {
    let quote = quoted(original.bytes(), LONGEST_IPV4 - IPV4_HEADER_LENGTH);
    let header = AtomicHeader {
        total_length: (IPV4_HEADER_LENGTH + HEADER_LENGTH + quote.len()) as u16,
        protocol: Protocol::ICMP,
        source: original.destination(),
        destination: original.source(),
    };
    join(&header.emit(), message, quote, Sum::ZERO)
}

fn answer_v6(original: &Ipv6View<'_>, message: [u8; HEADER_LENGTH]) -> PacketBuffer {
    let quote = quoted(original.bytes(), LONGEST_IPV6 - IPV6_HEADER_LENGTH);
    let length = HEADER_LENGTH + quote.len();
    let header = PlainHeader {
        payload_length: length as u16,
        protocol: Protocol::ICMP_V6,
        source: original.destination(),
        destination: original.source(),
    };
    let sum = crate::checksum::pseudo_header(original.addresses(), Protocol::ICMP_V6, length);
    join(&header.emit(), message, quote, sum)
}

fn quoted(original: &[u8], room: usize) -> &[u8] {
    &original[..original.len().min(room - HEADER_LENGTH)]
}

/// Returns one packet of all parts, with the checksum that also covers `pseudo_header`.
fn join(
    header: &[u8],
    mut message: [u8; HEADER_LENGTH],
    quote: &[u8],
    pseudo_header: Sum,
) -> PacketBuffer {
    let sum = pseudo_header + Sum::of(&message) + Sum::of(quote);
    write_u16(&mut message, CHECKSUM, sum.nonzero_checksum());
    let length = header.len() + message.len() + quote.len();
    let mut packet = PacketBuffer::with_room(HEADROOM + length, HEADROOM);
    packet.extend(header);
    packet.extend(&message);
    packet.extend(quote);
    packet
}
