//! UDP and IP of a host: datagrams into packets of at most the MTU, and back.

use std::net::SocketAddrV4;

use bytes::Bytes as Content;
use units::Instant;
use wire::checksum::{Sum, pseudo_header};
use wire::ip::{Ipv4Mut, Ipv4View, Protocol};
use wire::udp::{HEADER_LENGTH as UDP_HEADER, UdpView};

use super::packet::Packet;
use super::reassembly::{Reassembly, Room};

/// Length of an IPv4 header without options, in bytes.
pub(super) const IP_HEADER: usize = 20;
/// Offset of the fragment field in the header, and its "more fragments" flag.
const FRAGMENT: usize = 6;
const MORE: u16 = 0x2000;

/// UDP and IP of one host.
#[derive(Debug)]
pub(crate) struct Internet {
    local: SocketAddrV4,
    /// Largest packet, in bytes.
    mtu: usize,
    /// Identification of the next datagram, common to all its fragments.
    identification: u16,
    reassembly: Reassembly,
}

/// A datagram that arrived: its source and its content.
pub(crate) type Arrived = (SocketAddrV4, Content);

impl Internet {
    /// Creates the stack of this address and port, for links of this MTU (68 or more); `room` limits the fragments that
    /// are kept.
    pub(crate) fn new(local: SocketAddrV4, mtu: usize, room: Room) -> Self {
        Self {
            local,
            mtu,
            identification: 0,
            reassembly: Reassembly::new(room),
        }
    }

    /// Returns the packets of a datagram.
    pub(crate) fn send(&mut self, to: SocketAddrV4, payload: &[u8]) -> Vec<Packet> {
        self.identification = self.identification.wrapping_add(1);
        let datagram = datagram([self.local, to], payload);
        let hosts = [*self.local.ip(), *to.ip()];
        let most = (self.mtu - IP_HEADER) & !7;
        let places = (0..datagram.len()).step_by(most);
        let fragment = |at: usize| {
            let end = (at + most).min(datagram.len());
            let mut field = (at / 8) as u16;
            if end < datagram.len() {
                field |= MORE;
            }
            let mut bytes = vec![0; IP_HEADER];
            bytes[0] = 0x45;
            bytes[2..4].copy_from_slice(&((IP_HEADER + end - at) as u16).to_be_bytes());
            bytes[4..6].copy_from_slice(&self.identification.to_be_bytes());
            bytes[FRAGMENT..FRAGMENT + 2].copy_from_slice(&field.to_be_bytes());
            bytes[8] = 64;
            bytes[9] = Protocol::UDP.0;
            bytes[12..16].copy_from_slice(&hosts[0].octets());
            bytes[16..20].copy_from_slice(&hosts[1].octets());
            let header = Ipv4Mut::parse(&mut bytes).map(|mut header| header.fill_header_checksum());
            header.expect("a header of our own is whole");
            bytes.extend_from_slice(&datagram[at..end]);
            Packet::Ip {
                hosts,
                bytes: bytes.into(),
            }
        };
        places.map(fragment).collect()
    }

    /// Takes a packet; returns the datagram that it completes, if that is for this port.
    pub(crate) fn receive(&mut self, now: Instant, packet: &Content) -> Option<Arrived> {
        let view = Ipv4View::parse(packet).ok()?;
        let source = view.source();
        let whole = match view.fragment() {
            None => packet.slice(view.header_length()..view.bytes().len()),
            Some(_) => self.reassembly.take(now, packet)?,
        };
        let udp = UdpView::parse(&whole).ok()?;
        let from = SocketAddrV4::new(source, udp.source_port());
        let is_ours = udp.destination_port() == self.local.port();
        let payload = whole.slice(UDP_HEADER..udp.bytes().len());
        is_ours.then_some((from, payload))
    }

    /// Discards incomplete datagrams whose time is over.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.reassembly.expire(now);
    }

    /// Returns the time at which an incomplete datagram is discarded next.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.reassembly.deadline()
    }

    /// Returns the number of datagrams that were never complete.
    pub(crate) fn incomplete(&self) -> u64 {
        self.reassembly.given_up()
    }
}

/// Returns a UDP datagram with its header.
fn datagram([from, to]: [SocketAddrV4; 2], payload: &[u8]) -> Vec<u8> {
    let length = UDP_HEADER + payload.len();
    let mut datagram = Vec::with_capacity(length);
    for field in [from.port(), to.port(), length as u16, 0] {
        datagram.extend_from_slice(&field.to_be_bytes());
    }
    datagram.extend_from_slice(payload);
    let addresses = [from.ip().octets(), to.ip().octets()].concat();
    let sum = pseudo_header(&addresses, Protocol::UDP, length) + Sum::of(&datagram);
    datagram[6..8].copy_from_slice(&sum.nonzero_checksum().to_be_bytes());
    datagram
}

#[cfg(test)]
mod tests;
