//! The interface between the nodes: ports and events.

use simulator::Port;
use units::Duration;

/// The port towards the wired network.
pub(crate) const WIRED: Port = Port(0);
/// The port towards the air.
pub(crate) const AIR: Port = Port(1);
/// The only port of a client.
pub(crate) const LINK: Port = Port(0);

/// An event at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// The application of a client has copied its file, in this time.
    Copied(Duration),
    /// The copy failed; holds the reason.
    Failed(String),
}
