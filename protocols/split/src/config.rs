//! The configuration of a splitter.

use std::net::IpAddr;

use ipnet::IpNet;
use redirector::Side;
use units::{Bytes, Duration};

/// Configuration of a [`Splitter`](crate::Splitter).
#[derive(Debug, Clone)]
pub struct Config {
    /// End of the hop.
    pub end: End,
    /// Mobile hosts whose connections are split.
    pub mobiles: Vec<Mobile>,
    /// Buffer of a connection in each direction, besides its sockets or streams.
    pub buffer: Bytes,
    /// Largest number of connections. One mobile host has at most as many as are still free (dynamic thresholds,
    /// Choudhury and Hahne 1998): alone it has at most half of them, and other hosts always find room.
    pub connections: usize,
    /// Time without data after which a connection is reset.
    pub idle: Duration,
    /// Accept connections before the other host has answered, as in I-TCP's paper; otherwise requests are held.
    pub accepts_at_once: bool,
    /// Secret number for challenges (see `guard.rs`). No other host may know it.
    pub secret: u64,
}

/// End of the hop at which TCP is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The gateway.
    Gateway {
        /// True if fixed hosts see the mobile host's address and port, not this host's; then their connections to
        /// mobile hosts are split too.
        transparent: bool,
    },
    /// The mobile host, for its own applications, while streams can cross the hop.
    Mobile,
}

impl End {
    /// Returns the side of the hop.
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
    /// Index of the peer across the hop: at the gateway the mobile host, at the mobile host its gateway.
    pub peer: usize,
    /// Inner addresses of the mobile host.
    pub networks: Vec<IpNet>,
    /// Connections that are split; the mobile host gets this from its gateway.
    pub scope: Scope,
}

/// Connections that are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All connections.
    Every,
    /// Connections for which the condition of the hop makes it better ([`Choice`](crate::Choice)).
    Chosen,
}

impl Mobile {
    /// Returns a mobile host with inner addresses of these prefixes, each an address and a length in bits.
    pub fn of_prefixes(peer: usize, prefixes: &[(IpAddr, u8)], scope: Scope) -> Self {
        let prefixes = prefixes.iter();
        let networks = prefixes.filter_map(|(network, length)| IpNet::new(*network, *length).ok());
        Self {
            peer,
            networks: networks.collect(),
            scope,
        }
    }
}

impl Config {
    /// Returns the largest total buffer of all connections in bytes, besides sockets and streams.
    pub fn memory(&self) -> Bytes {
        // Two directions, and twice that while bytes are handed from one side to the other.
        Bytes::new(4 * self.buffer.get() * self.connections as u64)
    }
}
