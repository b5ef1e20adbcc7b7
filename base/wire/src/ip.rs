//! IP packets of both versions, with one view of either.

pub(crate) mod numbers;
pub mod scope;
mod v4;
mod v6;

use std::net::IpAddr;

pub use numbers::{Protocol, Version};
pub(crate) use v4::AtomicHeader;
pub use v4::{HEADER_LENGTH as IPV4_HEADER_LENGTH, Ipv4Mut, Ipv4View};
pub(crate) use v6::PlainHeader;
pub use v6::{HEADER_LENGTH as IPV6_HEADER_LENGTH, Ipv6View};

use crate::checksum::{Sum, pseudo_header, replace_word};
use crate::field::read_u16;
use crate::icmp::IcmpView;
use crate::malformed::{Header, Malformed, require};
use crate::tcp::TcpView;
use crate::udp::{self, UdpView};

/// Initial time to live of our own packets, in hops (IANA's recommended default).
const INITIAL_TIME_TO_LIVE: u8 = 64;

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
    /// The two bits of this field in the traffic class.
    pub fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0,
            Self::Capable1 => 1,
            Self::Capable0 => 2,
            Self::CongestionExperienced => 3,
        }
    }

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

/// The kind of [`Transport`] that a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tcp,
    Udp,
    Icmp,
    Fragment,
    Other,
}

/// Positions of the parts of an IP packet, found and checked once, and valid while the packet's lengths stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    version: Version,
    protocol: Protocol,
    kind: Kind,
    fragment: Option<Fragment>,
    header_length: u32,
    /// Length of the whole packet, headers included.
    length: u32,
}

impl Layout {
    /// Checks the header of the carried protocol.
    fn check_transport(&self, bytes: &[u8]) -> Result<Kind, Malformed> {
        let payload = &bytes[self.header_length as usize..self.length as usize];
        Ok(match (self.protocol, self.version) {
            _ if self.fragment.is_some_and(|fragment| fragment.offset != 0) => Kind::Fragment,
            (Protocol::TCP, _) => TcpView::parse(payload).map(|_| Kind::Tcp)?,
            (Protocol::UDP, _) if self.fragment.is_some() => {
                require(Header::Udp, payload, udp::HEADER_LENGTH).map(|()| Kind::Udp)?
            }
            (Protocol::UDP, _) => UdpView::parse(payload).map(|_| Kind::Udp)?,
            (Protocol::ICMP, version @ Version::V4)
            | (Protocol::ICMP_V6, version @ Version::V6) => {
                IcmpView::parse(payload, version).map(|_| Kind::Icmp)?
            }
            _ => Kind::Other,
        })
    }

    /// Returns the layout of a packet of another length, in bytes, with the same IP header.
    pub(crate) fn with_length(self, length: usize) -> Self {
        Self {
            length: length as u32,
            ..self
        }
    }

    /// Writes this length into the IP header that `bytes` begin with; over IPv4, the checksum follows, and the
    /// identification grows by `packets`.
    pub(crate) fn write_length(&self, bytes: &mut [u8], packets: u16) {
        let header = &mut bytes[..self.header_length as usize];
        match self.version {
            Version::V4 => v4::write_length(header, self.length as u16, packets),
            Version::V6 => v6::write_length(header, self.length as usize),
        }
    }

    /// Sets both bits of the ECN field (RFC 3168) of the IP header that `bytes` begin with; over IPv4, the checksum
    /// follows.
    pub(crate) fn mark_congestion(&self, bytes: &mut [u8]) {
        match self.version {
            Version::V4 => replace_word(bytes, v4::CHECKSUM, 0, read_u16(bytes, 0) | 3),
            Version::V6 => bytes[1] |= 3 << 4,
        }
    }

    /// Sets the time to live, or hop limit, of the IP header that `bytes` begin with; over IPv4, the checksum follows.
    pub(crate) fn set_time_to_live(&self, bytes: &mut [u8], value: u8) {
        match self.version {
            Version::V4 => {
                let word = u16::from(value) << 8 | u16::from(bytes[v4::TIME_TO_LIVE + 1]);
                replace_word(bytes, v4::CHECKSUM, v4::TIME_TO_LIVE, word);
            }
            Version::V6 => bytes[v6::HOP_LIMIT] = value,
        }
    }
}

/// A checked view of an IP packet and of its transport header.
///
/// In the first fragment of a datagram the transport header is complete but its payload is not.
#[derive(Debug, Clone, Copy)]
pub struct IpPacket<'a> {
    bytes: &'a [u8],
    layout: Layout,
}

impl<'a> IpPacket<'a> {
    /// Checks all headers up to the transport's. It does not verify checksums.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut layout = match version_of(bytes)? {
            Version::V4 => Ipv4View::parse(bytes)?.layout(),
            Version::V6 => Ipv6View::parse(bytes)?.layout(),
        };
        layout.kind = layout.check_transport(bytes)?;
        Ok(Self::new(bytes, layout))
    }

    /// Checks the IP header of a packet that may be cut after it. Its transport is not checked.
    pub(crate) fn parse_beginning(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let layout = match version_of(bytes)? {
            Version::V4 => Ipv4View::parse_beginning(bytes)?.layout(),
            Version::V6 => Ipv6View::parse_beginning(bytes)?.layout(),
        };
        Ok(Self::new(bytes, layout))
    }

    /// Returns a view of the packet at the start of `bytes`, which was checked when `layout` was found.
    pub(crate) fn new(bytes: &'a [u8], layout: Layout) -> Self {
        let bytes = &bytes[..layout.length as usize];
        Self { bytes, layout }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the view of the IP header alone.
    pub fn view(&self) -> IpView<'a> {
        match self.layout.version {
            Version::V4 => IpView::V4(Ipv4View::new(self.bytes)),
            Version::V6 => IpView::V6(Ipv6View::new(self.bytes, self.layout)),
        }
    }

    /// Returns the transport header and its payload.
    pub fn transport(&self) -> Transport<'a> {
        let payload = self.payload();
        match self.layout.kind {
            Kind::Tcp => Transport::Tcp(TcpView::new(payload)),
            Kind::Udp if self.layout.fragment.is_some() => {
                Transport::Udp(UdpView::first_fragment(payload))
            }
            Kind::Udp => Transport::Udp(UdpView::new(payload)),
            Kind::Icmp => Transport::Icmp(IcmpView::new(payload, self.layout.version)),
            Kind::Fragment => Transport::Fragment,
            Kind::Other => Transport::Other(self.layout.protocol),
        }
    }

    /// Returns the version of IP.
    pub fn version(&self) -> Version {
        self.layout.version
    }

    /// Returns the packet, headers included, without trailing bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the length of the IP header with options and extension headers, in bytes.
    pub fn header_length(&self) -> usize {
        self.layout.header_length as usize
    }

    /// Returns the bytes after the IP header: the transport header and its payload.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes()[self.header_length()..]
    }

    /// Returns the protocol of the payload.
    pub fn protocol(&self) -> Protocol {
        self.layout.protocol
    }

    /// Returns the sender's address.
    pub fn source(&self) -> IpAddr {
        match self.view() {
            IpView::V4(view) => view.source().into(),
            IpView::V6(view) => view.source().into(),
        }
    }

    /// Returns the receiver's address.
    pub fn destination(&self) -> IpAddr {
        match self.view() {
            IpView::V4(view) => view.destination().into(),
            IpView::V6(view) => view.destination().into(),
        }
    }

    fn traffic_class(&self) -> u8 {
        match self.view() {
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
        self.layout.fragment
    }

    /// Returns the remaining hop count.
    pub fn time_to_live(&self) -> u8 {
        match self.view() {
            IpView::V4(view) => view.time_to_live(),
            IpView::V6(view) => view.hop_limit(),
        }
    }

    /// Returns the sum of the pseudo-header for a transport of `length` bytes, header included.
    pub fn pseudo_header(&self, length: usize) -> Sum {
        let addresses = match self.view() {
            IpView::V4(view) => view.addresses(),
            IpView::V6(view) => view.addresses(),
        };
        pseudo_header(addresses, self.protocol(), length)
    }
}

/// Returns the version in the first byte of a header.
fn version_of(bytes: &[u8]) -> Result<Version, Malformed> {
    require(Header::Ip, bytes, 1)?;
    match bytes[0] >> 4 {
        4 => Ok(Version::V4),
        6 => Ok(Version::V6),
        version => Err(Malformed::Version {
            header: Header::Ip,
            version,
        }),
    }
}
