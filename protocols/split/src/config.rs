//! How TCP is split.

use ipnet::IpNet;
use redirector::Side;
use units::{Bytes, Duration};

/// How a [`Splitter`](crate::Splitter) behaves.
#[derive(Debug, Clone)]
pub struct Config {
    /// The end of the hop.
    pub end: End,
    /// Whose connections are split.
    pub mobiles: Vec<Mobile>,
    /// What a connection buffers here in each direction, beside its sockets or streams.
    pub buffer: Bytes,
    /// Connections at one time. One mobile host has at most as many as there is room for more (dynamic thresholds,
    /// Choudhury and Hahne 1998): alone half of them, and whoever comes later finds room.
    pub connections: usize,
    /// A connection on which nothing happens for so long is reset.
    pub idle: Duration,
    /// Connections are accepted before the other host has answered, as in I-TCP's paper; else requests are held.
    pub accepts_at_once: bool,
    /// The number from which challenges are made (see `guard.rs`). Nobody else may know it.
    pub secret: u64,
}

/// The end of the hop at which TCP is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The gateway.
    Gateway {
        /// Fixed hosts see the mobile's address and port, not this host's; then what they ask of mobile hosts is split
        /// too.
        transparent: bool,
    },
    /// The mobile host, for its own applications, while streams cross the hop.
    Mobile,
}

impl End {
    /// The side on which the hop is.
    pub(crate) fn hop_side(self) -> Side {
        match self {
            Self::Gateway { .. } => Side::Mobile,
            Self::Mobile => Side::Fixed,
        }
    }
}

/// A mobile host whose TCP is split.
#[derive(Debug, Clone)]
pub struct Mobile {
    /// The peer across the hop: at the gateway the mobile host, there its gateway.
    pub peer: usize,
    /// Its inner addresses.
    pub networks: Vec<IpNet>,
    /// Which of its connections are split; at the mobile host its gateway says so.
    pub scope: Scope,
}

/// Which connections are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All.
    Every,
    /// Those for which the hop is such that it pays ([`Choice`](crate::Choice)).
    Chosen,
}

impl Config {
    /// Bytes that the buffers of all connections take at most, beside sockets and streams.
    pub fn memory(&self) -> Bytes {
        // Two directions, and as much again while it is handed from one side to the other.
        Bytes::new(4 * self.buffer.get() * self.connections as u64)
    }
}
