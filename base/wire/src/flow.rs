//! Which flow a packet belongs to, and what repair that flow wants.

use std::net::{IpAddr, SocketAddr};

use crate::icmp::IcmpMessage;
use crate::ip::{IpPacket, Protocol, Transport, Version};

/// Expedited forwarding (RFC 3246): who marks a packet so wants it soon or not at all.
const DSCP_EXPEDITED_FORWARDING: u8 = 46;

/// Assured forwarding, class 1 (RFC 2597): RFC 4594 §4.8 has it for data in bulk, which want to arrive more than they
/// want to arrive soon. Calls of files over UDP bear it.
pub const DSCP_BULK: u8 = 10;
/// The drop precedences of that class.
const DSCP_BULK_ALL: [u8; 3] = [DSCP_BULK, 12, 14];

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

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// The end that asked for it.
    pub source: SocketAddr,
    /// The end that was asked.
    pub destination: SocketAddr,
}

impl Ends {
    /// Returns the ends of the connection that `packet` asks for.
    pub fn of(packet: &IpPacket<'_>) -> Self {
        let flow = FlowKey::of(packet);
        Self {
            source: (flow.source, flow.source_port).into(),
            destination: (flow.destination, flow.destination_port).into(),
        }
    }
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

    /// The flow of this one's fragments.
    pub fn of_fragments(self) -> Self {
        Self {
            source_port: 0,
            destination_port: 0,
            ..self
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
    /// UDP, and every protocol that we do not know. UDP that is marked as data in bulk
    /// ([`DSCP_BULK`]) is held too; so is what answers it, by a caller that remembers flows.
    pub fn of(packet: &IpPacket<'_>) -> Self {
        let dscp = packet.dscp();
        let held = match packet.protocol() {
            Protocol::TCP => dscp != DSCP_EXPEDITED_FORWARDING,
            Protocol::UDP => DSCP_BULK_ALL.contains(&dscp),
            _ => false,
        };
        if held { Self::Held } else { Self::Brief }
    }
}
