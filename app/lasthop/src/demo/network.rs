//! The hosts: mobile – air – gateway – fixed host, as network namespaces of this machine.

use std::net::Ipv4Addr;

use channel::PerDirection;
use edges::namespace::Namespace;
use edges::netlink::{Netlink, Route};
use edges::sysctl::{self, SysctlError};
use edges::tun::TunDevice;
use ipnet::{IpNet, Ipv4Net};
use rig::End;

use super::addresses::{FIXED_HOST, GATEWAY_ON_AIR, GATEWAY_ON_WIRE, MOBILE_ON_AIR};
use super::error::DemoError;
use super::plan::Scheme;

/// Largest IP packet on any link.
pub(crate) const MTU: u32 = 1500;

/// Largest buffers of the servers' TCP and the mobile host's: above the bandwidth-delay product of every named link,
/// with queue and repair. The kernel grows buffers only as far as needed.
const LARGEST_BUFFER: u64 = 64 << 20;
const BUFFERS: [&str; 2] = ["net/ipv4/tcp_wmem", "net/ipv4/tcp_rmem"];

/// The three hosts. They end with this handle and the processes in them.
pub(crate) struct Network {
    pub(crate) mobile: Namespace,
    pub(crate) gateway: Namespace,
    pub(crate) fixed: Namespace,
    /// The TUN devices on both ends of the air, by the direction of their input.
    pub(crate) air: PerDirection<TunDevice>,
}

impl Network {
    /// Creates the hosts and all links between them except the air itself.
    ///
    /// Without lasthop the mobile host has a default route over the air; with a tunnel, the tunnel must add that route,
    /// so that no packet bypasses it.
    pub(crate) fn build(scheme: &Scheme) -> Result<Self, DemoError> {
        let [mobile, gateway, fixed] = rig::hosts()?;
        let device = |host: &Namespace, address| {
            rig::on(host, || rig::make_device("air0", &[network(address)], MTU))
        };
        let air = PerDirection {
            down: device(&gateway, GATEWAY_ON_AIR)?,
            up: device(&mobile, MOBILE_ON_AIR)?,
        };
        for host in [&gateway, &fixed] {
            // Suppresses the kernel's own IPv6 traffic; a kernel without IPv6 has none.
            let _ = rig::set(host, "net/ipv6/conf/default/disable_ipv6", "1");
        }
        let [near, far] = [GATEWAY_ON_WIRE, FIXED_HOST].map(|address| network(address).to_string());
        rig::join([
            End::new(&gateway, "wire0", &near),
            End::new(&fixed, "wire1", &far),
        ])?;
        rig::set(&gateway, "net/ipv4/ip_forward", "1")?;
        rig::route(&fixed, "0.0.0.0/0", &GATEWAY_ON_WIRE.to_string())?;
        // With split TCP the gateway is a sender and a receiver too.
        for host in [&mobile, &gateway, &fixed] {
            rig::on(host, || Ok(grow_buffers()?))?;
        }
        if *scheme == Scheme::Plain {
            let route = Route::to(IpNet::V4(Ipv4Net::default())).through("air0");
            rig::on(&mobile, || Ok(Netlink::open()?.add_route(&route)?))?;
        }
        Ok(Self {
            mobile,
            gateway,
            fixed,
            air,
        })
    }

    /// Returns the buffer limits of the fixed host's and the mobile host's TCP, for the report.
    pub(crate) fn buffers(&self) -> Result<String, DemoError> {
        let read = |host: &Namespace, name| -> Result<String, DemoError> {
            let text = rig::on(host, || Ok(sysctl::read(name)?))?;
            Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let [wmem, rmem] = BUFFERS;
        let (wmem, rmem) = (read(&self.fixed, wmem)?, read(&self.mobile, rmem)?);
        Ok(format!(
            "server's tcp_wmem {wmem}, mobile's tcp_rmem {rmem}"
        ))
    }
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

fn network(address: Ipv4Addr) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(address, 24))
}
