//! Real packets as segments: IPv4 and IPv6.

use std::net::{IpAddr, SocketAddr};

use wire::checksum::verify_transport_checksum;
use wire::ip::{IPV4_HEADER_LENGTH, IPV6_HEADER_LENGTH, Protocol, Transport};
use wire::packet::{Checksum, HEADROOM, Packet, PacketBuffer};
use wire::tcp::{HEADER_LENGTH, OptionBytes, TcpFlags, TcpSegmentOptions, TcpView};

use crate::cache::Cached;
use crate::{Header, Revision, Segment};

/// Initial hop limit of the agent's own packets (IANA's recommended default).
const INITIAL_TIME_TO_LIVE: u8 = 64;
/// "Do not fragment", in the high byte of its field.
const DO_NOT_FRAGMENT: u8 = 0x40;

impl Segment for Packet {
    fn header(&self) -> Option<Header> {
        let packet = self.ip()?;
        let Transport::Tcp(tcp) = packet.transport() else {
            return None;
        };
        let payload = tcp.payload().len();
        let stands_for_several = self.segment_size > 0 && payload > self.segment_size.into();
        let options = read_options(&tcp)?;
        if packet.fragment().is_some() || stands_for_several {
            return None;
        }
        if self.checksum == Checksum::Unverified && !verify_transport_checksum(&packet) {
            return None;
        }
        Some(Header {
            source: SocketAddr::new(packet.source(), tcp.source_port()),
            destination: SocketAddr::new(packet.destination(), tcp.destination_port()),
            sequence: tcp.sequence_number(),
            acknowledgment: tcp.acknowledgment_number(),
            flags: tcp.flags(),
            window: tcp.window(),
            payload: payload as u32,
            options,
        })
    }

    /// Returns the packet's storage, and its entry in a cache with twice the needed capacity, in bytes.
    fn cost(&self) -> u64 {
        (self.capacity() + 2 * size_of::<Cached<Self>>()) as u64
    }

    fn revise(&mut self, revision: &Revision) {
        let Some(header) = self.header() else {
            return;
        };
        let options = revision.applied_to_options(&header.options);
        if options == header.options {
            return;
        }
        let revised = self.ip().and_then(|ip| match ip.transport() {
            Transport::Tcp(tcp) => Some(OptionBytes::revised(&tcp, &options)),
            _ => None,
        });
        if let Some(options) = revised {
            self.set_tcp_options(&options);
        }
    }

    fn acknowledgment(header: &Header) -> Self {
        let options = OptionBytes::of(&header.options);
        let length = HEADER_LENGTH + options.bytes().len();
        let mut buffer = PacketBuffer::with_room(HEADROOM + IPV6_HEADER_LENGTH + length, HEADROOM);
        extend_ip(&mut buffer, header, length as u16);
        buffer.extend(&header.source.port().to_be_bytes());
        buffer.extend(&header.destination.port().to_be_bytes());
        buffer.extend(&header.sequence.0.to_be_bytes());
        buffer.extend(&header.acknowledgment.0.to_be_bytes());
        buffer.extend(&[(length / 4 * 16) as u8, header.flags.0]);
        buffer.extend(&header.window.to_be_bytes());
        buffer.extend(&[0; 4]);
        buffer.extend(options.bytes());
        let mut packet = Self::new(buffer);
        let filled = packet.fill_checksum();
        debug_assert_eq!(filled, Some(()), "our own packet can be read");
        packet
    }
}

/// Returns the options of a segment, or none if one is malformed, or unknown to the agent: options covered by a
/// signature (TCP-AO, MD5) must not be changed, and options of another layer (MPTCP) must not be held back. A SYN may
/// carry any option, since it is only read.
fn read_options(tcp: &TcpView<'_>) -> Option<TcpSegmentOptions> {
    let (options, others) = TcpSegmentOptions::read(tcp).ok()?;
    (!others || tcp.flags().contains(TcpFlags::SYN)).then_some(options)
}

/// Appends an IP header for a transport of `length` bytes.
fn extend_ip(buffer: &mut PacketBuffer, header: &Header, length: u16) {
    let (source, destination) = (header.source.ip(), header.destination.ip());
    if let (IpAddr::V4(source), IpAddr::V4(destination)) = (source, destination) {
        let mut ip = [0; IPV4_HEADER_LENGTH];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&(IPV4_HEADER_LENGTH as u16 + length).to_be_bytes());
        ip[6] = DO_NOT_FRAGMENT;
        ip[8] = INITIAL_TIME_TO_LIVE;
        ip[9] = Protocol::TCP.0;
        ip[12..16].copy_from_slice(&source.octets());
        ip[16..].copy_from_slice(&destination.octets());
        let checksum = wire::checksum::Sum::of(&ip).checksum();
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        buffer.extend(&ip);
    } else {
        let octets = |address| match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        buffer.extend(&[0x60, 0, 0, 0]);
        buffer.extend(&length.to_be_bytes());
        buffer.extend(&[Protocol::TCP.0, INITIAL_TIME_TO_LIVE]);
        buffer.extend(&octets(source));
        buffer.extend(&octets(destination));
    }
}
