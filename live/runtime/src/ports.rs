//! The ports of a loop.

use edges::netlink::NetworkWatch;
use edges::signals::Signals;

use crate::changes::Changes;
use crate::control::Control;
use crate::finder::Finder;
use crate::reloader::Reloader;
use crate::resolver::Names;
use crate::signals::Announcer;
use crate::sockets::Sockets;
use crate::supervisor::Supervisor;

/// The ports of a loop.
pub struct Ports<D, B> {
    /// Device of the host's own packets.
    pub device: D,
    /// Bearer of datagrams across the hop.
    pub bearer: B,
    /// Signals that end the loop.
    pub signals: Option<Signals>,
    /// Control socket.
    pub control: Option<Control>,
    /// Notification of changes of this host's addresses or routes.
    pub network: Option<NetworkWatch>,
    /// Announcer of fades and hand-offs to applications.
    pub announcer: Option<Announcer>,
    /// Sockets of split connections, if there are any.
    pub sockets: Option<Sockets>,
    /// Supervisor, which watches the loop.
    pub supervisor: Option<Supervisor>,
    /// Search for the address of a peer.
    pub finder: Option<Finder>,
    /// Changes of the ways of packets: around the hop, if it may be left, or out of a gateway that stands in.
    pub changes: Option<Changes>,
    /// The resolver of a mobile host.
    pub names: Option<Names>,
    /// Reloading of the configuration; without it SIGHUP ends the loop.
    pub reloader: Option<Reloader>,
}

impl<D, B> Ports<D, B> {
    /// Returns ports with the two that every loop needs.
    pub fn new(device: D, bearer: B) -> Self {
        Self {
            device,
            bearer,
            signals: None,
            control: None,
            network: None,
            announcer: None,
            sockets: None,
            supervisor: None,
            finder: None,
            changes: None,
            names: None,
            reloader: None,
        }
    }
}
