//! IP packets of both versions, with one view of either.

mod ecn;
mod v4;
mod v6;

use std::net::IpAddr;

pub use ecn::mark_congestion;
pub(crate) use v4::AtomicHeader;
pub use v4::{HEADER_LENGTH as IPV4_HEADER_LENGTH, Ipv4Mut, Ipv4View};
pub(crate) use v6::PlainHeader;
pub use v6::{HEADER_LENGTH as IPV6_HEADER_LENGTH, Ipv6Mut, Ipv6View};

use crate::checksum::{Sum, pseudo_header};
use crate::icmp::IcmpView;
use crate::malformed::{Header, Malformed, require};
use crate::tcp::TcpView;
use crate::udp::UdpView;

/// Initial time to live of our own packets, in hops (IANA's recommended default).
const INITIAL_TIME_TO_LIVE: u8 = 64;

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

/// Protocol number of the header that follows (IANA "Assigned Internet Protocol Numbers").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// ICMP for IPv4.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// `ICMPv6`.
    pub const ICMP_V6: Self = Self(58);

    const IPV6_HOP_BY_HOP: Self = Self(0);
    const IPV6_ROUTING: Self = Self(43);
    const IPV6_FRAGMENT: Self = Self(44);
    const AUTHENTICATION: Self = Self(51);
    const IPV6_DESTINATION: Self = Self(60);

    fn is_ipv6_extension(self) -> bool {
        matches!(
            self,
            Self::IPV6_HOP_BY_HOP
                | Self::IPV6_ROUTING
                | Self::IPV6_FRAGMENT
                | Self::AUTHENTICATION
                | Self::IPV6_DESTINATION
        )
    }
}

/// The ECN field: the marks that a queue on the path may set, or has set (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The transport does not understand marks: queues drop instead.
    NotCapable,
    /// The transport understands marks, ECT(1): an L4S flow (RFC 9331).
    Capable1,
    /// The transport understands marks, ECT(0).
    Capable0,
    /// A queue on the way was congested.
    CongestionExperienced,
}

impl Ecn {
    fn of_traffic_class(traffic_class: u8) -> Self {
        match traffic_class & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::CongestionExperienced,
        }
    }
}

/// Position of a fragment in its datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Offset in the datagram's payload, in bytes.
    pub offset: u16,
    /// True if more fragments follow.
    pub more: bool,
    /// Identification of the datagram, together with its addresses and protocol.
    pub identification: u32,
    /// The protocol that all fragments of the datagram name.
    pub protocol: Protocol,
}

/// A checked view of the IP header.
#[derive(Debug, Clone, Copy)]
pub enum IpView<'a> {
    /// An IPv4 packet.
    V4(Ipv4View<'a>),
    /// An IPv6 packet.
    V6(Ipv6View<'a>),
}

/// The transport header and payload of an IP packet.
#[derive(Debug, Clone, Copy)]
pub enum Transport<'a> {
    /// A TCP segment.
    Tcp(TcpView<'a>),
    /// A UDP datagram.
    Udp(UdpView<'a>),
    /// A message of the ICMP that belongs to the packet's IP version.
    Icmp(IcmpView<'a>),
    /// A fragment other than its datagram's first, so without a transport header.
    Fragment,
    /// Anything else.
    Other(Protocol),
}

/// A checked view of an IP packet and of its transport header.
///
/// In the first fragment of a datagram the transport header is complete but its payload is not.
#[derive(Debug, Clone, Copy)]
pub struct IpPacket<'a> {
    view: IpView<'a>,
    transport: Transport<'a>,
}

impl<'a> IpPacket<'a> {
    /// Checks all headers up to the transport's. It does not verify checksums.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        require(Header::Ip, bytes, 1)?;
        let view = match bytes[0] >> 4 {
            4 => IpView::V4(Ipv4View::parse(bytes)?),
            6 => IpView::V6(Ipv6View::parse(bytes)?),
            version => {
                return Err(Malformed::Version {
                    header: Header::Ip,
                    version,
                });
            }
        };
        let mut packet = Self {
            view,
            transport: Transport::Fragment,
        };
        packet.transport = packet.parse_transport()?;
        Ok(packet)
    }

    fn parse_transport(&self) -> Result<Transport<'a>, Malformed> {
        let (fragment, payload) = (self.fragment(), self.payload());
        if fragment.is_some_and(|fragment| fragment.offset != 0) {
            return Ok(Transport::Fragment);
        }
        Ok(match (self.protocol(), self.version()) {
            (Protocol::TCP, _) => Transport::Tcp(TcpView::parse(payload)?),
            (Protocol::UDP, _) if fragment.is_some() => {
                Transport::Udp(UdpView::parse_first_fragment(payload)?)
            }
            (Protocol::UDP, _) => Transport::Udp(UdpView::parse(payload)?),
            (Protocol::ICMP, version @ Version::V4)
            | (Protocol::ICMP_V6, version @ Version::V6) => {
                Transport::Icmp(IcmpView::parse(payload, version)?)
            }
            (protocol, _) => Transport::Other(protocol),
        })
    }

    /// Returns the view of the IP header alone.
    pub fn view(&self) -> IpView<'a> {
        self.view
    }

    /// Returns the transport header and its payload.
    pub fn transport(&self) -> Transport<'a> {
        self.transport
    }

    /// Returns the version of IP.
    pub fn version(&self) -> Version {
        match self.view {
            IpView::V4(_) => Version::V4,
            IpView::V6(_) => Version::V6,
        }
    }

    /// Returns the packet, headers included, without trailing bytes.
    pub fn bytes(&self) -> &'a [u8] {
        match self.view {
            IpView::V4(view) => view.bytes(),
            IpView::V6(view) => view.bytes(),
        }
    }

    /// Returns the length of the IP header with options and extension headers, in bytes.
    pub fn header_length(&self) -> usize {
        match self.view {
            IpView::V4(view) => view.header_length(),
            IpView::V6(view) => view.header_length(),
        }
    }

    /// Returns the bytes after the IP header: the transport header and its payload.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes()[self.header_length()..]
    }

    /// Returns the protocol of the payload.
    pub fn protocol(&self) -> Protocol {
        match self.view {
            IpView::V4(view) => view.protocol(),
            IpView::V6(view) => view.protocol(),
        }
    }

    /// Returns the sender's address.
    pub fn source(&self) -> IpAddr {
        match self.view {
            IpView::V4(view) => view.source().into(),
            IpView::V6(view) => view.source().into(),
        }
    }

    /// Returns the receiver's address.
    pub fn destination(&self) -> IpAddr {
        match self.view {
            IpView::V4(view) => view.destination().into(),
            IpView::V6(view) => view.destination().into(),
        }
    }

    fn traffic_class(&self) -> u8 {
        match self.view {
            IpView::V4(view) => view.traffic_class(),
            IpView::V6(view) => view.traffic_class(),
        }
    }

    /// Returns the differentiated services code point, 0 to 63 (RFC 2474).
    pub fn dscp(&self) -> u8 {
        self.traffic_class() >> 2
    }

    /// Returns the ECN field.
    pub fn ecn(&self) -> Ecn {
        Ecn::of_traffic_class(self.traffic_class())
    }

    /// Returns the position of this fragment in its datagram; `None` for a whole datagram.
    pub fn fragment(&self) -> Option<Fragment> {
        match self.view {
            IpView::V4(view) => view.fragment(),
            IpView::V6(view) => view.fragment(),
        }
    }

    /// Returns the remaining hop count.
    pub fn time_to_live(&self) -> u8 {
        match self.view {
            IpView::V4(view) => view.time_to_live(),
            IpView::V6(view) => view.hop_limit(),
        }
    }

    /// Returns the sum of the pseudo-header for a transport of `length` bytes, header included.
    pub fn pseudo_header(&self, length: usize) -> Sum {
        let addresses = match self.view {
            IpView::V4(view) => view.addresses(),
            IpView::V6(view) => view.addresses(),
        };
        pseudo_header(addresses, self.protocol(), length)
    }
}
