//! Which flow a packet belongs to, and what repair that flow wants.

use std::net::IpAddr;

use crate::icmp::IcmpMessage;
use crate::ip::{IpPacket, Protocol, Transport, Version};

/// Expedited forwarding (RFC 3246): who marks a packet so wants it soon or not at all.
const DSCP_EXPEDITED_FORWARDING: u8 = 46;

/// What names a flow: packets with equal keys stay in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The transport; for fragments what every fragment of the datagram names.
    pub protocol: Protocol,
    /// Who sends.
    pub source: IpAddr,
    /// Who receives.
    pub destination: IpAddr,
    /// The sender's port; the identifier of an ICMP echo; 0 for fragments and all others.
    pub source_port: u16,
    /// The receiver's port; the identifier of an ICMP echo; 0 for fragments and all others.
    pub destination_port: u16,
}

impl FlowKey {
    /// The flow of `packet`. All fragments of a datagram share one flow, also the first, whose ports
    /// are known: they follow each other.
    pub fn of(packet: &IpPacket<'_>) -> Self {
        let fragment = packet.fragment();
        let (source_port, destination_port) = if fragment.is_some() {
            (0, 0)
        } else {
            ports(packet.transport())
        };
        Self {
            protocol: fragment.map_or(packet.protocol(), |fragment| fragment.protocol),
            source: packet.source(),
            destination: packet.destination(),
            source_port,
            destination_port,
        }
    }

    /// The version of IP.
    pub fn version(&self) -> Version {
        if self.source.is_ipv4() {
            Version::V4
        } else {
            Version::V6
        }
    }

    /// The flow of the other direction.
    pub fn reversed(self) -> Self {
        Self {
            protocol: self.protocol,
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}

fn ports(transport: Transport<'_>) -> (u16, u16) {
    match transport {
        Transport::Tcp(tcp) => (tcp.source_port(), tcp.destination_port()),
        Transport::Udp(udp) => (udp.source_port(), udp.destination_port()),
        Transport::Icmp(icmp) => match icmp.message() {
            IcmpMessage::EchoRequest(echo) | IcmpMessage::EchoReply(echo) => {
                (echo.identifier, echo.identifier)
            }
            _ => (0, 0),
        },
        Transport::Fragment | Transport::Other(_) => (0, 0),
    }
}

/// What repair on the hop a flow wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Repaired until it arrives, and held for order: later packets of the flow wait for it.
    Held,
    /// Few tries and no holding: late is as bad as never, and packets are released as they come.
    Brief,
}

impl Class {
    /// The class of a packet that nobody marked for the hop.
    ///
    /// TCP is [`Class::Held`], since it reads a gap as congestion. [`Class::Brief`] is what does not
    /// want waiting: packets marked for expedited forwarding (TCP too), DNS, ping and other ICMP,
    /// UDP, and every protocol that we do not know. A caller that knows more of a flow (NFS calls
    /// over UDP) holds it.
    pub fn of(packet: &IpPacket<'_>) -> Self {
        let is_tcp = packet.protocol() == Protocol::TCP;
        if is_tcp && packet.dscp() != DSCP_EXPEDITED_FORWARDING {
            Self::Held
        } else {
            Self::Brief
        }
    }
}
