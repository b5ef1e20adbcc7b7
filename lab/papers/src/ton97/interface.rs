//! The interface between the nodes: addresses, ports, and events.

use std::net::{Ipv4Addr, SocketAddrV4};

use simulator::Port;

/// Address and port of the fixed host.
pub(super) const FIXED: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 5_001);
/// Address and port of the mobile host.
pub(super) const MOBILE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 1), 5_002);

/// The port towards the wired network.
pub(crate) const WIRED: Port = Port(0);
/// The port towards the air.
pub(crate) const AIR: Port = Port(1);

/// An event at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// All data have reached the application.
    Done,
    /// A connection broke.
    Broken,
}
