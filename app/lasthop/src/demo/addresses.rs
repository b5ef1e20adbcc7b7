//! The addresses of the hosts and of their servers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub(super) const GATEWAY_ON_AIR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(super) const MOBILE_ON_AIR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub(super) const GATEWAY_ON_WIRE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
pub(super) const FIXED_HOST: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
/// Addresses of the fixed host's file server and echo server.
pub(super) const FILE_SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(FIXED_HOST), 80);
pub(super) const ECHO_SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(FIXED_HOST), 7);
