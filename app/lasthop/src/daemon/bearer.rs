//! Opening what carries frames across the hop.

use std::io;
use std::net::SocketAddr;

use edges::bearer::Bearer;
use edges::ethernet::{EthernetBearer, EthernetOptions};
use edges::udp::{UdpBearer, UdpOptions};

use crate::config::carrier::Carrier;
use crate::config::shared::Hop;
use crate::failure::Failure;

/// A bearer that is to be opened.
pub(super) struct Plan<'a> {
    pub(super) carrier: Carrier,
    pub(super) hop: &'a Hop,
    /// Where UDP datagrams come to.
    pub(super) bind: SocketAddr,
    /// The mark of UDP datagrams, by which rules know them.
    pub(super) mark: Option<u32>,
}

impl Plan<'_> {
    /// The bearer, and the largest packet that it carries, in bytes.
    pub(super) fn open(&self) -> Result<(Bearer, usize), Failure> {
        match &self.carrier {
            Carrier::Udp => {
                let bearer = self.open_udp()?;
                Ok((Bearer::Udp(bearer), self.hop.bearer_mtu(None)))
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
                let mtu = self.hop.bearer_mtu(Some(bearer.mtu()));
                Ok((Bearer::Ethernet(bearer), mtu))
            }
        }
    }

    fn open_udp(&self) -> Result<UdpBearer, Failure> {
        let options = UdpOptions {
            mark: self.mark,
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
