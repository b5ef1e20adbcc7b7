//! Addresses for which this host answers its neighbours on a link though other hosts have them (proxy ARP, RFC 1027;
//! neighbour discovery proxies, RFC 4389).

use std::net::IpAddr;

use netlink_packet_core::NLM_F_CREATE;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourFlags, NeighbourMessage};

use super::addresses::family_of;
use super::{Netlink, NetlinkError};

impl Netlink {
    /// Has this host answer for an address on a link. It does so while it forwards, has a route to the address by
    /// another link and, for IPv6, `proxy_ndp` is set.
    pub fn add_proxy(&mut self, link: &str, address: IpAddr) -> Result<(), NetlinkError> {
        let message = RouteNetlinkMessage::NewNeighbour(self.proxy(link, address)?);
        let operation = format!("answer for {address} on the link '{link}'");
        self.change(message, NLM_F_CREATE, &operation)
    }

    /// Ends that.
    pub fn remove_proxy(&mut self, link: &str, address: IpAddr) -> Result<(), NetlinkError> {
        let message = RouteNetlinkMessage::DelNeighbour(self.proxy(link, address)?);
        let operation = format!("answer no more for {address} on the link '{link}'");
        self.change(message, 0, &operation)
    }

    fn proxy(&mut self, link: &str, address: IpAddr) -> Result<NeighbourMessage, NetlinkError> {
        let mut message = NeighbourMessage::default();
        message.header.family = family_of(address);
        message.header.ifindex = self.link_index(link)?;
        message.header.flags = NeighbourFlags::Proxy;
        message.attributes = vec![NeighbourAttribute::Destination(address.into())];
        Ok(message)
    }
}
