//! Hosts and the links between them.

use edges::namespace::Namespace;
use edges::netlink::{Netlink, Route};
use edges::sysctl;
use edges::tun::{Offload, TunDevice, TunOptions};
use ipnet::IpNet;

use crate::Failure;

/// Length of the kernel's own queue before an emulator, in packets: so long that only the link's queue drops.
const DEVICE_QUEUE: u32 = 10_000;

/// One end of a link.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// Host at this end.
    pub host: &'a Namespace,
    /// Interface at this end.
    pub device: &'a str,
    /// Address of the interface with the length of its prefix, such as `10.1.0.1/24`.
    pub address: &'a str,
}

impl<'a> End<'a> {
    /// Returns the end at `host`.
    pub const fn new(host: &'a Namespace, device: &'a str, address: &'a str) -> Self {
        Self {
            host,
            device,
            address,
        }
    }
}

/// Makes hosts that nothing joins. Each is gone with its handles and the processes in it.
pub fn hosts<const N: usize>() -> Result<[Namespace; N], Failure> {
    let hosts: Result<Vec<_>, _> = (0..N).map(|_| Namespace::create()).collect();
    Ok(hosts?.try_into().expect("there are N of them"))
}

/// Runs `act` in that host.
pub fn on<T: Send>(
    host: &Namespace,
    act: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    host.run(act)?
}

/// Connects two hosts by a virtual cable (`veth(4)`).
pub fn join([near, far]: [End<'_>; 2]) -> Result<(), Failure> {
    // Both ends are created in one host, where they cannot have the same name.
    let draft = format!("{}.new", far.device);
    on(near.host, || {
        let mut netlink = Netlink::open()?;
        netlink.create_veth(near.device, &draft)?;
        Ok(netlink.move_link(&draft, far.host)?)
    })?;
    on(far.host, || {
        Ok(Netlink::open()?.rename_link(&draft, far.device)?)
    })?;
    set_up(near)?;
    set_up(far)
}

/// Gives an interface its address, and takes it up.
pub fn set_up(end: End<'_>) -> Result<(), Failure> {
    let address = parse(end.address)?;
    on(end.host, || {
        let mut netlink = Netlink::open()?;
        netlink.add_address(end.device, address)?;
        Ok(netlink.set_up(end.device)?)
    })
}

/// Adds a route of a host: to `destination`, such as `0.0.0.0/0`, by the next hop `via`.
pub fn route(host: &Namespace, destination: &str, via: &str) -> Result<(), Failure> {
    let not_read = |_| Failure::Found(format!("'{via}' is no address"));
    let route = Route::to(parse(destination)?).via(via.parse().map_err(not_read)?);
    on(host, || Ok(Netlink::open()?.add_route(&route)?))
}

/// Adds a route of a host: to `destination`, which is on the link itself.
pub(crate) fn route_by_link(
    host: &Namespace,
    destination: &str,
    link: &str,
) -> Result<(), Failure> {
    let route = Route::to(parse(destination)?).through(link);
    on(host, || Ok(Netlink::open()?.add_route(&route)?))
}

/// Sets a kernel parameter of a host, such as `net/ipv4/ip_forward`.
pub fn set(host: &Namespace, name: &str, value: &str) -> Result<(), Failure> {
    on(host, || Ok(sysctl::set(name, value).map(drop)?))
}

/// Creates a TUN device in the namespace of this thread, without offloads.
pub fn make_device(name: &str, addresses: &[IpNet], mtu: u32) -> Result<TunDevice, Failure> {
    let options = TunOptions {
        name: name.into(),
        offload: Offload::None,
        queue_length: DEVICE_QUEUE,
    };
    let device = TunDevice::open(&options).map_err(Failure::Device)?;
    let name = device.name();
    if addresses.iter().all(|address| address.addr().is_ipv4()) {
        keep_out_ipv6(name);
    }
    let mut netlink = Netlink::open()?;
    netlink.set_mtu(name, mtu)?;
    for address in addresses {
        netlink.add_address(name, *address)?;
    }
    netlink.set_up(name)?;
    Ok(device)
}

/// Keeps the kernel's router solicitations out of every measurement.
pub(crate) fn keep_out_ipv6(device: &str) {
    // A kernel without IPv6 sends none anyway.
    let _ = sysctl::set(&format!("net/ipv6/conf/{device}/disable_ipv6"), "1");
}

pub(crate) fn parse(address: &str) -> Result<IpNet, Failure> {
    let not_read = |_| Failure::Found(format!("'{address}' is no address with a prefix length"));
    address.parse().map_err(not_read)
}
