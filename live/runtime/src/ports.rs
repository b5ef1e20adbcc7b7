//! What a loop works with.

use edges::netlink::NetworkWatch;
use edges::signals::Signals;

use crate::control::Control;
use crate::finder::Finder;
use crate::signals::Announcer;
use crate::sockets::Sockets;

/// What a loop works with.
pub struct Ports<D, B> {
    /// Where the host's own packets come from and go to.
    pub device: D,
    /// What carries datagrams across the hop.
    pub bearer: B,
    /// Signals that end the loop.
    pub signals: Option<Signals>,
    /// Where questions come from.
    pub control: Option<Control>,
    /// News that addresses or routes of this host have changed.
    pub network: Option<NetworkWatch>,
    /// Who tells applications of fades and hand-offs.
    pub announcer: Option<Announcer>,
    /// The sockets of TCP that is split, where it is.
    pub sockets: Option<Sockets>,
    /// Who finds out where a peer is now.
    pub finder: Option<Finder>,
}

impl<D, B> Ports<D, B> {
    /// The two that every loop needs.
    pub fn new(device: D, bearer: B) -> Self {
        Self {
            device,
            bearer,
            signals: None,
            control: None,
            network: None,
            announcer: None,
            sockets: None,
            finder: None,
        }
    }
}
