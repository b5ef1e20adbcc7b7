//! Announcements to the neighbours on a link that this host has an address from now on: ARP announcements (RFC 5227,
//! section 3), and unsolicited neighbour advertisements (RFC 4861, section 7.2.6).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, Icmpv6Packet, Icmpv6Repr, IpProtocol, Ipv6Packet, Ipv6Repr, NdiscNeighborFlags,
    NdiscRepr,
};
use socket2::Socket;

use crate::ethernet::open_to_send;
use crate::netlink::Netlink;

/// Number of times that an address is announced, as a frame may be lost, and the time between two
/// (`MAX_NEIGHBOR_ADVERTISEMENT` and `RETRANS_TIMER` in RFC 4861, section 10).
const TIMES: usize = 3;
const PAUSE: Duration = Duration::from_secs(1);
/// The time until the next one after one that could not be sent.
const RETRY: Duration = Duration::from_millis(100);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_NODES_MAC: EthernetAddress = EthernetAddress([0x33, 0x33, 0, 0, 0, 1]);
/// Hop limit that shows that a message comes from a neighbour (RFC 4861, section 7.1.2).
const NEIGHBOUR: u8 = 255;

/// A link on which addresses can be announced.
#[derive(Debug)]
pub struct Announcer {
    socket: Socket,
    own: EthernetAddress,
    /// Address of this host on the link for IPv6.
    source: Ipv6Addr,
}

impl Announcer {
    /// Opens a link. That needs `CAP_NET_RAW`, but not afterwards.
    ///
    /// # Errors
    /// An error names the failed step, the link, and the remedy.
    pub fn open(link: &str) -> io::Result<Self> {
        let mut netlink = Netlink::open().map_err(io::Error::other)?;
        let found = netlink.link(link).map_err(io::Error::other)?;
        let own: [u8; 6] = found.hardware_address.as_slice().try_into().map_err(|_| {
            let what = format!("'{link}' has no MAC address, so it has no neighbours to tell");
            io::Error::new(io::ErrorKind::InvalidInput, what)
        })?;
        let addresses = netlink.addresses(link).map_err(io::Error::other)?;
        let link_local = addresses.iter().find_map(|address| match address.addr() {
            IpAddr::V6(address) if address.is_unicast_link_local() => Some(address),
            _ => None,
        });
        Ok(Self {
            socket: open_to_send(found.index)?,
            own: EthernetAddress(own),
            source: link_local.unwrap_or(Ipv6Addr::UNSPECIFIED),
        })
    }

    /// Starts a thread that announces; it ends with the returned value.
    ///
    /// # Errors
    /// System errors.
    pub fn start(self) -> io::Result<Announcements> {
        let (tell, told) = channel();
        let announce = move || self.announce_all(&told);
        thread::Builder::new()
            .name("neighbours".into())
            .spawn(announce)?;
        Ok(Announcements { tell })
    }

    fn announce_all(&self, told: &Receiver<Vec<IpAddr>>) {
        // Each with the number of times that are left.
        let mut left: BTreeMap<IpAddr, usize> = BTreeMap::new();
        let mut due: Option<Instant> = None;
        loop {
            let news = match due {
                None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => told.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            let addresses = match news {
                Ok(addresses) => {
                    left.extend(addresses.iter().map(|address| (*address, TIMES)));
                    addresses
                }
                Err(RecvTimeoutError::Timeout) => {
                    due = None;
                    left.keys().copied().collect()
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut pause = PAUSE;
            for address in addresses {
                if let Err(error) = self.announce(address) {
                    tracing::warn!("cannot announce {address} to the neighbours: {error}");
                    pause = RETRY;
                }
                left.entry(address)
                    .and_modify(|times| *times = times.saturating_sub(1));
            }
            left.retain(|_, times| *times > 0);
            let next = Instant::now() + pause;
            due = due
                .into_iter()
                .chain([next])
                .min()
                .filter(|_| !left.is_empty());
        }
    }

    fn announce(&self, address: IpAddr) -> io::Result<()> {
        let frame = match address {
            IpAddr::V4(address) => arp_announcement(self.own, address),
            IpAddr::V6(address) => neighbour_advertisement(self.own, self.source, address),
        };
        self.socket.send(&frame).map(drop)
    }
}

/// A thread that announces addresses.
#[derive(Debug)]
pub struct Announcements {
    tell: Sender<Vec<IpAddr>>,
}

impl Announcements {
    /// Announces addresses, several times.
    pub fn announce(&self, addresses: Vec<IpAddr>) {
        if !addresses.is_empty() {
            // Without its thread, which lasts as long as this, nothing can be announced.
            let _ = self.tell.send(addresses);
        }
    }
}

/// Returns an Ethernet frame with this payload.
fn frame(
    source: EthernetAddress,
    to: EthernetAddress,
    ether_type: EthernetProtocol,
    length: usize,
    emit: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let mut bytes = vec![0; EthernetFrame::<&[u8]>::buffer_len(length)];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes);
    let header = EthernetRepr {
        src_addr: source,
        dst_addr: to,
        ethertype: ether_type,
    };
    header.emit(&mut frame);
    emit(frame.payload_mut());
    bytes
}

/// Returns a request for an address by the host that has it: all neighbours that know the address update it.
fn arp_announcement(own: EthernetAddress, address: Ipv4Addr) -> Vec<u8> {
    let arp = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr: own,
        source_protocol_addr: address,
        target_hardware_addr: EthernetAddress([0; 6]),
        target_protocol_addr: address,
    };
    let (to, length) = (EthernetAddress::BROADCAST, arp.buffer_len());
    frame(own, to, EthernetProtocol::Arp, length, |payload| {
        arp.emit(&mut ArpPacket::new_unchecked(payload));
    })
}

/// Returns an advertisement of an address, which overrides what neighbours know.
fn neighbour_advertisement(own: EthernetAddress, source: Ipv6Addr, address: Ipv6Addr) -> Vec<u8> {
    let message = Icmpv6Repr::Ndisc(NdiscRepr::NeighborAdvert {
        flags: NdiscNeighborFlags::ROUTER | NdiscNeighborFlags::OVERRIDE,
        target_addr: address,
        lladdr: Some(own.into()),
    });
    let ip = Ipv6Repr {
        src_addr: source,
        dst_addr: ALL_NODES,
        next_header: IpProtocol::Icmpv6,
        payload_len: message.buffer_len(),
        hop_limit: NEIGHBOUR,
    };
    let length = ip.buffer_len() + message.buffer_len();
    frame(
        own,
        ALL_NODES_MAC,
        EthernetProtocol::Ipv6,
        length,
        |payload| {
            let mut packet = Ipv6Packet::new_unchecked(payload);
            ip.emit(&mut packet);
            let mut icmp = Icmpv6Packet::new_unchecked(packet.payload_mut());
            message.emit(
                &source,
                &ALL_NODES,
                &mut icmp,
                &ChecksumCapabilities::default(),
            );
        },
    )
}
