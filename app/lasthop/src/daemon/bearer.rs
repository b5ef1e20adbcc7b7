//! Opens the bearer of frames across the hop.

use std::io;
use std::net::SocketAddr;

use edges::bearer::{Bearer, NetworkBearer};
use edges::ethernet::{EthernetBearer, EthernetOptions};
use edges::netlink::Netlink;
use edges::tls::{TlsBearer, TlsOptions};
use edges::udp::{Privileged, UdpBearer, UdpOptions};
use hosts::{BearerMtu, Role};

use crate::config::carrier::Carrier;
use crate::config::shared::{Hop, Reach};
use crate::failure::Failure;

/// Settings of a bearer to open.
pub(super) struct Plan<'a> {
    pub(super) carrier: Carrier,
    pub(super) hop: &'a Hop,
    pub(super) role: Role,
    /// Local address of UDP datagrams.
    pub(super) bind: SocketAddr,
    /// Mark of packets of UDP and TLS, which rules match.
    pub(super) mark: Option<u32>,
}

impl Plan<'_> {
    /// Opens the bearer; also returns the limits of its packets.
    pub(super) fn open(&self) -> Result<(Bearer, BearerMtu), Failure> {
        match &self.carrier {
            Carrier::Udp => {
                let (udp, tls) = (self.open_udp()?, self.open_tls()?);
                let bearer = Box::new(NetworkBearer::new(udp, tls));
                let widest = widest_interface();
                let mtu = self.hop.bearer_mtu(Reach::Networks { widest });
                Ok((Bearer::Networks(bearer), mtu))
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

    /// Opens the bearer by TLS if a port is set: a gateway listens there, and a mobile host connects to it.
    fn open_tls(&self) -> Result<Option<TlsBearer>, Failure> {
        let Some(port) = self.hop.tls_port() else {
            return Ok(None);
        };
        let listen = match self.role {
            Role::Gateway => Some(SocketAddr::new(self.bind.ip(), port.get())),
            Role::Mobile => None,
        };
        let mark = self.mark;
        let bearer = TlsBearer::open(&TlsOptions { listen, mark });
        bearer.map(Some).map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "; another program, such as a web server, has this port: set another `tls_port` at both ends, or \
                     remove it"
                }
                io::ErrorKind::PermissionDenied => {
                    "; start as root, or with CAP_NET_BIND_SERVICE, or set a `tls_port` above 1023 at both ends"
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
