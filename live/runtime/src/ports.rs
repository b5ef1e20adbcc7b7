//! What a loop works with.

use edges::netlink::NetworkWatch;
use edges::signals::Signals;
use serde_json::Value;
use units::Bytes;

use crate::control::Control;
use crate::finder::Finder;
use crate::signals::Announcer;
use crate::split::StreamPort;

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
    /// The thread that splits TCP, if it is split here.
    pub streams: Option<StreamPort>,
    /// Who finds out where a peer is now.
    pub finder: Option<Finder>,
    /// Other parts of the program.
    pub parts: Vec<Part>,
}

/// A part of the program that works beside the loop, in its status.
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// What it takes of memory at most.
    pub memory: Bytes,
    /// How it does now.
    pub status: Box<dyn Fn() -> Value + Send>,
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
            streams: None,
            finder: None,
            parts: Vec::new(),
        }
    }
}
