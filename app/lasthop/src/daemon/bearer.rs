//! Opens the bearer of frames across the hop.

use std::io;
use std::net::SocketAddr;

use edges::bearer::Bearer;
use edges::ethernet::{EthernetBearer, EthernetOptions};
use edges::netlink::Netlink;
use edges::udp::{Privileged, UdpBearer, UdpOptions};
use hosts::BearerMtu;

use crate::config::carrier::Carrier;
use crate::config::shared::{Hop, Reach};
use crate::failure::Failure;

/// Settings of a bearer to open.
pub(super) struct Plan<'a> {
    pub(super) carrier: Carrier,
    pub(super) hop: &'a Hop,
    /// Local address of UDP datagrams.
    pub(super) bind: SocketAddr,
    /// Mark of UDP datagrams, which rules match.
    pub(super) mark: Option<u32>,
}

impl Plan<'_> {
    /// Opens the bearer; also returns the limits of its packets.
    pub(super) fn open(&self) -> Result<(Bearer, BearerMtu), Failure> {
        match &self.carrier {
            Carrier::Udp => {
                let bearer = self.open_udp()?;
                let widest = widest_interface();
                let mtu = self.hop.bearer_mtu(Reach::Networks { widest });
                Ok((Bearer::Udp(bearer), mtu))
            }
            Carrier::Ethernet {
                interface,
                ether_type,
            } => {
                let options = EthernetOptions {
                    ether_type: *ether_type,
                    ..EthernetOptions::new(interface)
                };
                let bearer = EthernetBearer::open(&options).map_err(Failure::setting)?;
                let mtu = self.hop.bearer_mtu(Reach::Link(bearer.mtu()));
                Ok((Bearer::Ethernet(bearer), mtu))
            }
        }
    }

    fn open_udp(&self) -> Result<UdpBearer, Failure> {
        let options = UdpOptions {
            mark: self.mark,
            privileged: Some(Privileged {
                first_byte: session::DATA_TYPE,
                least: session::DATA_OVERHEAD_BYTES,
            }),
            ..UdpOptions::new(self.bind)
        };
        UdpBearer::open(&options).map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "; another program has this port: end that program, or set another `listen`"
                }
                io::ErrorKind::AddrNotAvailable => {
                    "; this host has no such address: set another `listen`, such as '[::]:51830'"
                }
                _ => "",
            };
            Failure::setting(format!("{error}{remedy}"))
        })
    }
}

/// Returns the largest packet of this host's widest interface with hardware, or with a substitute for it, in bytes;
/// zero if it is unknown. The loopback interface does not count.
fn widest_interface() -> usize {
    let links = Netlink::open().and_then(|mut netlink| netlink.links());
    let widths = links.unwrap_or_default().into_iter();
    let outside = widths.filter(|link| link.up && link.name != "lo");
    outside
        .map(|link| link.mtu as usize)
        .max()
        .unwrap_or_default()
}
