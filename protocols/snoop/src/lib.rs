//! The snoop agent: a gateway that watches TCP pass by and repairs its losses on the air.
//!
//! The agent caches segments on their way to the mobile host, reads the acknowledgements that come back, and sends
//! segments that the air has lost again, at once and ahead of others; a TCP-aware agent also holds back the duplicate
//! acknowledgements from which the sender would infer congestion where there is none (Balakrishnan et al., Mobicom
//! 1995, WINET 1995). Its state is soft: it never acknowledges data before the receiver does, forwards every packet
//! that it does not understand as it is, and if it loses its state, TCP goes on without it. With two switches it is
//! the four link layers of the comparison (Balakrishnan et al., IEEE Transactions on Networking 1997): LL,
//! LL-TCP-AWARE, LL-SMART and LL-SMART-TCP-AWARE.
//!
//! Data from the mobile host are the other half: a gap in them was lost on the air. The [`Agent`] requests it by a
//! negative acknowledgement, and a [`Mobile`] at the other end, below an unmodified TCP, sends it again. For senders
//! that understand explicit loss notification the agent marks acknowledgements, in both directions.
//!
//! # Requirements on packets
//! [`Segment`] is the only requirement; [`wire::packet::Packet`] implements it (IPv4 and IPv6, live), as do the
//! simulator's values. A super-packet that stands for several segments (GSO, GRO) must be cut before
//! ([`wire::segment::Segments`]): otherwise it passes uncached, and its losses are left to TCP. The same holds for
//! fragments and packets with a wrong checksum.
//!
//! # Kernel TCP
//! - Only acknowledgements that RFC 5681 and RFC 6675 define as duplicate count as one: not a window update, not data
//!   that carry an old number, not the answer to a keep-alive, not a report of a repeated segment (D-SACK).
//! - While the agent repairs, it removes the SACK blocks that would show the gap from acknowledgements that must
//!   pass, since a SACK sender needs no duplicates to detect a loss. If one missing segment is not in the cache, the
//!   blocks stay.
//! - Keep-alives and window probes reach the mobile host; a closed window stops the agent's timers.
//! - A repeated segment keeps its old timestamps; they precede those of everything that was acknowledged after it, so
//!   PAWS accepts it.

mod agent;
mod cache;
mod config;
mod download;
mod effects;
mod flow;
mod mobile;
mod order;
mod packet;
mod round_trip;
mod segment;
mod table;
mod upload;
mod value;
mod window;

use std::net::SocketAddr;

pub use agent::Agent;
pub use config::{Config, ConfigError, ExplicitLoss, Limits, Timing};
pub use mobile::{Mobile, MobileConfig, MobileCounters, MobileInput, MobileOutput};
use schemars::JsonSchema;
pub use segment::{Header, Revision, Segment};
use serde::{Deserialize, Serialize};
pub use wire::tcp::{AirLoss, SackRanges, SeqRange, TcpSegmentOptions, Timestamps};

/// Inputs of an [`Agent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<P> {
    /// A packet arrives from the wired side, for a mobile host.
    FromFixed(P),
    /// A packet arrives from a mobile host.
    FromMobile(P),
}

/// Outputs of an [`Agent`] for its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<P> {
    /// Send a packet across the hop.
    ToMobile {
        /// The packet.
        packet: P,
        /// True if it goes before others: repairs and requests for repair do.
        priority: bool,
    },
    /// Send a packet to the wired side.
    ToFixed(P),
}

/// Addresses of both ends of a connection, as the gateway sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FlowName {
    pub(crate) mobile: SocketAddr,
    pub(crate) fixed: SocketAddr,
}

/// What an [`Agent`] has done, in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Data segments cached.
    pub cached: u64,
    /// Data segments that were not cached because of a limit.
    pub uncached: u64,
    /// Segments sent again from the cache.
    pub repairs: u64,
    /// Repairs that a timer caused, part of `repairs`.
    pub timeouts: u64,
    /// Segments that their sender repeated while they were cached.
    pub sender_repeats: u64,
    /// Acknowledgements that were held back.
    pub held: u64,
    /// Duplicate acknowledgements that were forwarded.
    pub passed: u64,
    /// Segments answered, since the mobile host had them already.
    pub answered: u64,
    /// Acknowledgements marked with a loss on the air.
    pub marked: u64,
    /// Counters of losses in the mobile host's data.
    pub upload: UploadCounters,
    /// Segments and connections that passed untouched.
    pub ignored: IgnoredCounters,
}

/// Losses of data from mobile hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UploadCounters {
    /// Gaps detected.
    pub gaps: u64,
    /// Negative acknowledgements sent.
    pub asked: u64,
}

/// What passed untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IgnoredCounters {
    /// Packets that are no TCP segment, or one that the agent cannot read.
    pub foreign: u64,
    /// Segments whose sequence numbers cannot belong to their connection.
    pub implausible: u64,
    /// Segments of connections for which there was no room.
    pub refused: u64,
}
