//! The kernel's table of tracked connections, by ctnetlink (`linux/netfilter/nfnetlink_conntrack.h`), like `conntrack`
//! does.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::NLM_F_REQUEST;
use netlink_packet_netfilter::conntrack::{
    ConntrackAttribute, ConntrackMessage, IPTuple, ProtoInfo, ProtoInfoTCP, TCPFlags, Tuple,
};
use netlink_packet_netfilter::{
    NetfilterHeader, NetfilterMessage, NetfilterMessageInner, NetfilterProtoFamily,
};
use netlink_sys::protocols::NETLINK_NETFILTER;

use super::{Channel, NetlinkError};

/// `IP_CT_TCP_FLAG_BE_LIBERAL` of `linux/netfilter/nf_conntrack_tcp.h`: segments count as valid whatever their sequence
/// numbers.
const ANY_SEQUENCE: u8 = 0x08;

/// A blocking ctnetlink socket.
pub type ConnectionTracking = Channel<NetfilterMessage>;

impl ConnectionTracking {
    /// Opens a socket in the calling thread's namespace.
    pub fn open() -> Result<Self, NetlinkError> {
        Self::of_family(NETLINK_NETFILTER)
    }

    /// Lets the segments of all TCP connections of hosts in `networks` that are tracked now count as valid whatever
    /// their sequence numbers. Returns the number of connections.
    ///
    /// When the first rule comes that needs the state of connections, the kernel expects the sequence numbers of the
    /// next segment (`nf_ct_tcp_fixup`). If that one is a repetition, the acknowledgement of what came before the rule
    /// is beyond them, and an invalid segment keeps its inner address: the connection stands.
    pub fn accept_any_sequence(&mut self, networks: &[IpNet]) -> Result<usize, NetlinkError> {
        let all = message(
            NetfilterProtoFamily::Unspec,
            ConntrackMessage::Get(Vec::new()),
        );
        let known = self.list(&all, "list the tracked connections")?;
        let mut count = 0;
        for change in known.iter().filter_map(|known| change(known, networks)) {
            match self.change(change, NLM_F_REQUEST, "change a tracked connection") {
                Ok(()) => count += 1,
                // It has ended meanwhile.
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }
}

/// Returns the change of a connection of TCP, if one of its ends is in `networks`.
fn change(known: &NetfilterMessage, networks: &[IpNet]) -> Option<NetfilterMessage> {
    let NetfilterMessageInner::Conntrack(ConntrackMessage::New(attributes)) = &known.inner else {
        return None;
    };
    let is_tcp = |attribute: &ConntrackAttribute| {
        matches!(attribute, ConntrackAttribute::CtaProtoInfo(info)
            if info.iter().any(|info| matches!(info, ProtoInfo::TCP(_))))
    };
    attributes.iter().find(|attribute| is_tcp(attribute))?;
    let ends = attributes
        .iter()
        .find(|attribute| matches!(attribute, ConntrackAttribute::CtaTupleOrig(_)))?;
    let is_among = |address| networks.iter().any(|network| network.contains(&address));
    addresses(ends).find(|address| is_among(*address))?;
    let flags = || TCPFlags::parse(&[ANY_SEQUENCE, ANY_SEQUENCE]).ok();
    let tcp = vec![
        ProtoInfoTCP::OriginalFlags(flags()?),
        ProtoInfoTCP::ReplyFlags(flags()?),
    ];
    let info = ConntrackAttribute::CtaProtoInfo(vec![ProtoInfo::TCP(tcp)]);
    let new = ConntrackMessage::New(vec![ends.clone(), info]);
    Some(message(known.header.family, new))
}

/// Returns the addresses of the end that began a connection, and of the other.
fn addresses(ends: &ConntrackAttribute) -> impl Iterator<Item = IpAddr> {
    let parts = match ends {
        ConntrackAttribute::CtaTupleOrig(parts) => parts.as_slice(),
        _ => &[],
    };
    let addresses = parts.iter().flat_map(|part| match part {
        Tuple::Ip(addresses) => addresses.as_slice(),
        _ => &[],
    });
    addresses.filter_map(|address| match address {
        IPTuple::SourceAddress(address) | IPTuple::DestinationAddress(address) => Some(*address),
        _ => None,
    })
}

fn message(family: NetfilterProtoFamily, message: ConntrackMessage) -> NetfilterMessage {
    NetfilterMessage::new(NetfilterHeader::new(family, 0, 0), message)
}
