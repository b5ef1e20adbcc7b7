//! The hosts: mobile – air – gateway – fixed host, as network namespaces of this machine.

use std::net::{Ipv4Addr, SocketAddr};

use channel::PerDirection;
use edges::namespace::Namespace;
use edges::netlink::{Netlink, Route};
use edges::sysctl::{self, SysctlError};
use edges::tun::TunDevice;
use ipnet::{IpNet, Ipv4Net};

use super::error::DemoError;
use super::plan::Scheme;
use crate::emulate::make_device;

/// The largest IP packet on any link.
pub(crate) const MTU: u32 = 1500;
pub(crate) const GATEWAY_ON_AIR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const MOBILE_ON_AIR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const GATEWAY_ON_WIRE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const FIXED_HOST: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
/// Where the fixed host serves the file, and where it echoes.
pub(crate) const FILE_SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(FIXED_HOST), 80);
pub(crate) const ECHO_SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(FIXED_HOST), 7);

/// The largest window of the servers' TCP and the mobile's: above the bandwidth-delay product of every
/// link with a name, with queue and repair. The kernel grows buffers only as far as it must.
const LARGEST_BUFFER: u64 = 64 << 20;
const BUFFERS: [&str; 2] = ["net/ipv4/tcp_wmem", "net/ipv4/tcp_rmem"];

/// The three hosts. They are gone with this handle and the processes in them.
pub(crate) struct Network {
    pub(crate) mobile: Namespace,
    pub(crate) gateway: Namespace,
    pub(crate) fixed: Namespace,
    /// The TUN devices on both ends of the air, by the direction that they feed.
    pub(crate) air: PerDirection<TunDevice>,
}

impl Network {
    /// Builds the hosts and everything between them but the air itself.
    ///
    /// Without lasthop the mobile host has a route to the world by the air; with a tunnel, the
    /// tunnel must bring the route: nothing can slip by.
    pub(crate) fn build(scheme: &Scheme) -> Result<Self, DemoError> {
        let (mobile, gateway, fixed) = (
            Namespace::create()?,
            Namespace::create()?,
            Namespace::create()?,
        );
        let air = PerDirection {
            down: gateway.run(|| make_device("air0", &[on_air(GATEWAY_ON_AIR)], MTU))??,
            up: mobile.run(|| make_device("air0", &[on_air(MOBILE_ON_AIR)], MTU))??,
        };
        gateway.run(|| wire(&fixed))??;
        fixed.run(|| -> Result<(), DemoError> {
            quiet();
            let mut netlink = Netlink::open()?;
            netlink.add_address("wire1", on_wire(FIXED_HOST))?;
            netlink.set_up("wire1")?;
            netlink.add_route(&everything().via(GATEWAY_ON_WIRE.into()))?;
            Ok(grow_buffers()?)
        })??;
        mobile.run(|| -> Result<(), DemoError> {
            grow_buffers()?;
            if *scheme == Scheme::Plain {
                Netlink::open()?.add_route(&everything().through("air0"))?;
            }
            Ok(())
        })??;
        Ok(Self {
            mobile,
            gateway,
            fixed,
            air,
        })
    }

    /// The buffer bounds of the fixed host's and the mobile's TCP, for the report.
    pub(crate) fn buffers(&self) -> Result<String, DemoError> {
        let read = |host: &Namespace, name| -> Result<String, DemoError> {
            Ok(host
                .run(|| sysctl::read(name))??
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "))
        };
        let [wmem, rmem] = BUFFERS;
        let (wmem, rmem) = (read(&self.fixed, wmem)?, read(&self.mobile, rmem)?);
        Ok(format!(
            "server's tcp_wmem {wmem}, mobile's tcp_rmem {rmem}"
        ))
    }
}

/// The wire between the gateway, in whose namespace this runs, and the fixed host.
fn wire(fixed: &Namespace) -> Result<(), DemoError> {
    quiet();
    let mut netlink = Netlink::open()?;
    netlink.create_veth("wire0", "wire1")?;
    netlink.move_link("wire1", fixed)?;
    netlink.add_address("wire0", on_wire(GATEWAY_ON_WIRE))?;
    netlink.set_up("wire0")?;
    sysctl::set("net/ipv4/ip_forward", "1")?;
    // It is a sender and a receiver too where TCP is split.
    Ok(grow_buffers()?)
}

/// Keeps the kernel's own IPv6 chatter out; a kernel without IPv6 has none.
fn quiet() {
    let _ = sysctl::set("net/ipv6/conf/default/disable_ipv6", "1");
}

/// Keeps the first two numbers and raises the third.
fn grow_buffers() -> Result<(), SysctlError> {
    for name in BUFFERS {
        let old = sysctl::read(name)?;
        let mut fields = old.split_whitespace();
        let (least, usual) = (
            fields.next().unwrap_or("4096"),
            fields.next().unwrap_or("131072"),
        );
        sysctl::set(name, &format!("{least} {usual} {LARGEST_BUFFER}"))?;
    }
    Ok(())
}

fn everything() -> Route {
    Route::to(IpNet::V4(Ipv4Net::default()))
}

fn on_air(address: Ipv4Addr) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(address, 24))
}

fn on_wire(address: Ipv4Addr) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(address, 24))
}
