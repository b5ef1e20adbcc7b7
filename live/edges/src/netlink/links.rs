//! Network interfaces.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};

use super::{Netlink, NetlinkError};

/// Length of the longest link name in bytes (`IFNAMSIZ` without the terminator).
const LONGEST_NAME: usize = 15;

/// State of one network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Index of the interface in its namespace, from 1.
    pub index: u32,
    /// Name of the interface, e.g. `eth0`.
    pub name: String,
    /// True if it is administratively up.
    pub up: bool,
    /// True if it is up and has a carrier, so that frames can be sent.
    pub has_carrier: bool,
    /// Number of times that it gained a carrier.
    pub carrier_gains: u32,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Length of its driver queue, in packets.
    pub transmit_queue_length: u32,
    /// Driver kind, e.g. `veth` or `tun`; `None` for real hardware.
    pub kind: Option<String>,
    /// Link-layer address: 6 bytes for Ethernet, none for TUN.
    pub hardware_address: Vec<u8>,
}

impl Netlink {
    /// Returns the link called `name`.
    pub fn link(&mut self, name: &str) -> Result<Link, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(name_attribute(name)?);
        let operation = format!("find the link '{name}'");
        match self.query(RouteNetlinkMessage::GetLink(message), &operation)? {
            RouteNetlinkMessage::NewLink(answer) => Ok(read_link(answer)),
            _ => Err(NetlinkError::Malformed {
                operation,
                detail: "it describes no link".into(),
            }),
        }
    }

    /// Returns the index of the link called `name`.
    pub fn link_index(&mut self, name: &str) -> Result<u32, NetlinkError> {
        Ok(self.link(name)?.index)
    }

    /// Returns all links of the namespace.
    pub fn links(&mut self) -> Result<Vec<Link>, NetlinkError> {
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let answers = self.list(&request, "list the links")?;
        Ok(answers
            .into_iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewLink(link) => Some(read_link(link)),
                _ => None,
            })
            .collect())
    }

    /// Creates a pair of connected virtual Ethernet interfaces. Both are down.
    pub fn create_veth(&mut self, name: &str, peer: &str) -> Result<(), NetlinkError> {
        let mut far_end = LinkMessage::default();
        far_end.attributes.push(name_attribute(peer)?);
        let mut message = LinkMessage::default();
        message.attributes.push(name_attribute(name)?);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far_end))),
        ]));
        self.change(
            RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
            &format!("create the veth pair '{name}' and '{peer}'"),
        )
    }

    /// Creates a learning bridge without ports, which is down.
    pub fn create_bridge(&mut self, name: &str) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(name_attribute(name)?);
        let kind = LinkInfo::Kind(InfoKind::Bridge);
        message.attributes.push(LinkAttribute::LinkInfo(vec![kind]));
        self.change(
            RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
            &format!("create the bridge '{name}'"),
        )
    }

    /// Makes a link a port of a bridge, or removes it from its bridge.
    pub fn set_bridge(&mut self, name: &str, bridge: Option<&str>) -> Result<(), NetlinkError> {
        let index = match bridge {
            Some(bridge) => self.link_index(bridge)?,
            None => 0,
        };
        let verb = format!("make a port of '{}' of", bridge.unwrap_or("no bridge"));
        self.set_attribute(name, LinkAttribute::Controller(index), &verb)
    }

    /// Removes a link (and the other end of a veth pair).
    pub fn delete_link(&mut self, name: &str) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(name_attribute(name)?);
        let operation = format!("delete the link '{name}'");
        self.change(RouteNetlinkMessage::DelLink(message), 0, &operation)
    }

    /// Moves a link to the namespace behind `namespace` (see [`Namespace`](crate::namespace::Namespace)). It is down
    /// and without addresses there.
    pub fn move_link(&mut self, name: &str, namespace: impl AsFd) -> Result<(), NetlinkError> {
        let target = LinkAttribute::NetNsFd(namespace.as_fd().as_raw_fd());
        self.set_attribute(name, target, "move to another namespace")
    }

    /// Renames a link, which must be down.
    pub fn rename_link(&mut self, name: &str, new_name: &str) -> Result<(), NetlinkError> {
        let attribute = name_attribute(new_name)?;
        let index = self.link_index(name)?;
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(attribute);
        let operation = format!("rename the link '{name}' to '{new_name}'");
        self.change(RouteNetlinkMessage::SetLink(message), 0, &operation)
    }

    /// Sets the largest IP packet of a link, in bytes.
    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), NetlinkError> {
        self.set_attribute(
            name,
            LinkAttribute::Mtu(mtu),
            &format!("set the MTU {mtu} of"),
        )
    }

    /// Sets the length of a link's driver queue, in packets.
    pub fn set_transmit_queue_length(
        &mut self,
        name: &str,
        packets: u32,
    ) -> Result<(), NetlinkError> {
        let attribute = LinkAttribute::TxQueueLen(packets);
        self.set_attribute(
            name,
            attribute,
            &format!("set a transmit queue of {packets} packets of"),
        )
    }

    /// Sets a link up.
    pub fn set_up(&mut self, name: &str) -> Result<(), NetlinkError> {
        self.set_flag(name, LinkFlags::Up, "take up")
    }

    /// Sets a link down; its routes are removed.
    pub fn set_down(&mut self, name: &str) -> Result<(), NetlinkError> {
        self.set_flag(name, LinkFlags::empty(), "take down")
    }

    fn set_flag(&mut self, name: &str, up: LinkFlags, verb: &str) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(name_attribute(name)?);
        message.header.flags = up;
        message.header.change_mask = LinkFlags::Up;
        let operation = format!("{verb} the link '{name}'");
        self.change(RouteNetlinkMessage::SetLink(message), 0, &operation)
    }

    fn set_attribute(
        &mut self,
        name: &str,
        attribute: LinkAttribute,
        verb: &str,
    ) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(name_attribute(name)?);
        message.attributes.push(attribute);
        let operation = format!("{verb} the link '{name}'");
        self.change(RouteNetlinkMessage::SetLink(message), 0, &operation)
    }
}

fn name_attribute(name: &str) -> Result<LinkAttribute, NetlinkError> {
    let forbidden = |c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace();
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains(forbidden) {
        return Err(NetlinkError::InvalidName(name.into()));
    }
    Ok(LinkAttribute::IfName(name.into()))
}

fn read_link(message: LinkMessage) -> Link {
    let mut link = Link {
        index: message.header.index,
        name: String::new(),
        up: message.header.flags.contains(LinkFlags::Up),
        has_carrier: message
            .header
            .flags
            .contains(LinkFlags::Up | LinkFlags::LowerUp),
        carrier_gains: 0,
        mtu: 0,
        transmit_queue_length: 0,
        kind: None,
        hardware_address: Vec::new(),
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::CarrierUpCount(gains) => link.carrier_gains = gains,
            LinkAttribute::TxQueueLen(packets) => link.transmit_queue_length = packets,
            LinkAttribute::Address(bytes) => link.hardware_address = bytes,
            LinkAttribute::LinkInfo(parts) => {
                link.kind = parts.into_iter().find_map(|part| match part {
                    LinkInfo::Kind(kind) => Some(kind.to_string()),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    link
}
