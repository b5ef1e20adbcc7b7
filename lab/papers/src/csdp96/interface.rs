//! The interface between the nodes: ports and events.

use simulator::Port;

/// The port towards the wire.
pub(crate) const WIRED: Port = Port(0);
/// The only port of a mobile host.
pub(crate) const HOP: Port = Port(0);

/// An event at a node, with the number of the mobile host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// All data have reached the application.
    Done(u16),
    /// A connection broke.
    Broken(u16),
}
