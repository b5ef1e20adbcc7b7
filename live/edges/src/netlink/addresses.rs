//! Addresses of links.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Netlink, NetlinkError};

impl Netlink {
    /// Adds an address with the length of its subnet's prefix to a link. An IPv6 address is usable at once: duplicate
    /// address detection (RFC 4862) is off, since on our links no other host can own it.
    pub fn add_address(&mut self, link: &str, address: IpNet) -> Result<(), NetlinkError> {
        let mut message = self.address_message(link, address)?;
        if address.addr().is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        let operation = format!("add the address {address} to the link '{link}'");
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        self.change(RouteNetlinkMessage::NewAddress(message), flags, &operation)
    }

    /// Removes an address from a link.
    pub fn remove_address(&mut self, link: &str, address: IpNet) -> Result<(), NetlinkError> {
        let message = self.address_message(link, address)?;
        let operation = format!("remove the address {address} from the link '{link}'");
        self.change(RouteNetlinkMessage::DelAddress(message), 0, &operation)
    }

    /// Returns the addresses of a link, including link-local ones.
    pub fn addresses(&mut self, link: &str) -> Result<Vec<IpNet>, NetlinkError> {
        let index = self.link_index(link)?;
        let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let answers = self.list(&request, "list the addresses")?;
        Ok(answers
            .into_iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewAddress(message) if message.header.index == index => {
                    read_address(&message)
                }
                _ => None,
            })
            .collect())
    }

    fn address_message(
        &mut self,
        link: &str,
        address: IpNet,
    ) -> Result<AddressMessage, NetlinkError> {
        let mut message = AddressMessage::default();
        message.header.index = self.link_index(link)?;
        message.header.family = family_of(address.addr());
        message.header.prefix_len = address.prefix_len();
        message.header.scope = AddressScope::Universe;
        message.attributes = vec![
            AddressAttribute::Local(address.addr()),
            AddressAttribute::Address(address.addr()),
        ];
        Ok(message)
    }
}

/// Returns the address family of an address.
pub(super) fn family_of(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

/// Reads the own address, which IPv4 reports as "local", IPv6 as "address".
fn read_address(message: &AddressMessage) -> Option<IpNet> {
    let local = message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            AddressAttribute::Local(address) => Some(*address),
            _ => None,
        });
    let plain = message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        });
    IpNet::new(local.or(plain)?, message.header.prefix_len).ok()
}
