//! The flow that a packet belongs to, and the repair that the flow needs.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::field::read_u16;
use crate::icmp::IcmpMessage;
use crate::ip::{IpPacket, Protocol, Transport, Version};

/// Expedited forwarding (RFC 3246): packets that are useless if they are late.
const DSCP_EXPEDITED_FORWARDING: u8 = 46;

/// Assured forwarding, class 1 (RFC 2597). RFC 4594 §4.8 uses it for bulk data, for which arrival matters more than
/// delay. NFS calls over UDP carry it.
pub const DSCP_BULK: u8 = 10;
/// The drop precedences of assured forwarding, class 1.
const DSCP_BULK_ALL: [u8; 3] = [DSCP_BULK, 12, 14];

/// Key of a flow: packets with equal keys stay in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FlowKey {
    /// The transport; for fragments the protocol that every fragment of the datagram names.
    pub protocol: Protocol,
    /// Address of the sender.
    pub source: IpAddr,
    /// Address of the receiver.
    pub destination: IpAddr,
    /// The sender's port; the identifier of an ICMP echo; 0 for fragments and all other packets.
    pub source_port: u16,
    /// The receiver's port; the identifier of an ICMP echo; 0 for fragments and all other packets.
    pub destination_port: u16,
}

/// The two endpoints of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ends {
    /// The endpoint that opens the connection.
    pub source: SocketAddr,
    /// The endpoint that the connection is opened to.
    pub destination: SocketAddr,
}

impl Ends {
    /// Returns the endpoints of the connection that `packet` opens.
    pub fn of(packet: &IpPacket<'_>) -> Self {
        let flow = FlowKey::of(packet);
        Self {
            source: (flow.source, flow.source_port).into(),
            destination: (flow.destination, flow.destination_port).into(),
        }
    }

    /// Returns the endpoints of packets in the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
        }
    }
}

impl FlowKey {
    /// Returns the flow of `packet`. All fragments of a datagram share one flow, including the first, whose ports are
    /// known: they must stay in order.
    pub fn of(packet: &IpPacket<'_>) -> Self {
        Self::with_ports(packet, ports(packet.transport()))
    }

    /// Returns the flow of a packet with these ports, which are not those of the flow if it is a fragment.
    fn with_ports(packet: &IpPacket<'_>, ports: [u16; 2]) -> Self {
        let fragment = packet.fragment();
        let [source_port, destination_port] = match fragment {
            Some(_) => [0, 0],
            None => ports,
        };
        Self {
            protocol: fragment.map_or(packet.protocol(), |fragment| fragment.protocol),
            source: packet.source(),
            destination: packet.destination(),
            source_port,
            destination_port,
        }
    }

    /// Returns the flow of the packet that an ICMP error carries the beginning of, which may be cut after eight bytes
    /// of the transport; `None` if that is malformed.
    pub fn of_original(original: &[u8]) -> Option<Self> {
        let packet = IpPacket::parse_beginning(original).ok()?;
        let transport: &[u8; 8] = packet.payload().first_chunk()?;
        let [first, second, identifier] = [0, 2, 4].map(|at| read_u16(transport, at));
        let ports = match packet.protocol() {
            Protocol::TCP | Protocol::UDP => [first, second],
            Protocol::ICMP | Protocol::ICMP_V6 => [identifier; 2],
            _ => [0; 2],
        };
        Some(Self::with_ports(&packet, ports))
    }

    /// Returns the version of IP.
    pub fn version(&self) -> Version {
        if self.source.is_ipv4() {
            Version::V4
        } else {
            Version::V6
        }
    }

    /// Returns the flow of this flow's fragments.
    pub fn of_fragments(self) -> Self {
        Self {
            source_port: 0,
            destination_port: 0,
            ..self
        }
    }

    /// Returns the flow of the opposite direction.
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

fn ports(transport: Transport<'_>) -> [u16; 2] {
    match transport {
        Transport::Tcp(tcp) => [tcp.source_port(), tcp.destination_port()],
        Transport::Udp(udp) => [udp.source_port(), udp.destination_port()],
        Transport::Icmp(icmp) => match icmp.message() {
            IcmpMessage::EchoRequest(echo) | IcmpMessage::EchoReply(echo) => [echo.identifier; 2],
            _ => [0; 2],
        },
        Transport::Fragment | Transport::Other(_) => [0; 2],
    }
}

/// The repair on the hop that a flow needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Repaired until it arrives, and held for order: later packets of the flow wait for an earlier one.
    Held,
    /// Repaired by few retransmissions and never held: a late packet is useless, and packets are released as they
    /// arrive.
    Brief,
}

impl Class {
    /// Returns the class of a packet without a mark for the hop.
    ///
    /// TCP is [`Class::Held`], since it takes a gap for congestion. [`Class::Brief`] are packets that must not wait:
    /// those marked for expedited forwarding (TCP too), DNS, ping and other ICMP, UDP, and every unknown protocol. UDP
    /// that is marked as bulk data ([`DSCP_BULK`]) is held too; so are the replies to it, if the caller remembers
    /// flows.
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
