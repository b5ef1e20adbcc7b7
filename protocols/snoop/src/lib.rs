//! The snoop agent: a gateway that watches TCP pass by and repairs its losses on the air.
//!
//! The agent caches segments on their way to the mobile host, reads the acknowledgements that come back
//! and sends again, at once and ahead of others, what the air has lost; a TCP-aware agent also holds
//! back the duplicate acknowledgements that would tell the sender of congestion where there is
//! none (Balakrishnan et al., Mobicom 1995, WINET 1995). Its state is soft: it never
//! acknowledges what the receiver has not, forwards every packet that it does not understand as it is,
//! and if it forgets everything, TCP goes on without it. With two switches it is the four link layers of
//! the comparison (Balakrishnan et al., IEEE Transactions on Networking 1997): LL, LL-TCP-AWARE, LL-SMART
//! and LL-SMART-TCP-AWARE.
//!
//! Data from the mobile host are the other half: a gap in them was lost on the air. The [`Agent`] asks for
//! it by a negative acknowledgement, and a [`Mobile`] at the other end, below an unmodified TCP,
//! sends it again. For senders that understand explicit loss notification the agent marks
//! acknowledgements, in both directions.
//!
//! # What a packet must be
//! [`Segment`] is all that is asked of one; [`wire::packet::Packet`] is a segment (IPv4 and IPv6, live), and
//! the simulator's values are by their own few lines. A super-packet that stands for several
//! segments (GSO, GRO) must be cut before ([`wire::segment::Segments`]): as it is it passes
//! uncached, and its losses are left to TCP. So do fragments and packets with a wrong checksum.
//!
//! # Kernel TCP
//! - Only what RFC 5681 and RFC 6675 call duplicate counts as one: not a window update, not data that
//!   carry an old number, not the answer to a keep-alive, not a report of a repeated segment (D-SACK).
//! - While the agent repairs, the SACK blocks that would show the gap are taken off acknowledgements
//!   that must pass, for a SACK sender needs no duplicates to see a loss. One missing segment that
//!   is not in the cache, and they stay.
//! - Keep-alives and window probes reach the mobile host; a closed window stops the agent's timers.
//! - A repeated segment keeps its old timestamps; they precede those of everything that was acknowledged
//!   after it, so PAWS takes it.

mod agent;
mod cache;
mod config;
mod download;
mod effects;
mod flow;
mod mobile;
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
pub use segment::{Header, Revision, Segment};
use serde::{Deserialize, Serialize};
pub use wire::tcp::{AirLoss, SackRanges, SeqRange, TcpSegmentOptions, Timestamps};

/// What can happen to an [`Agent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<P> {
    /// A packet came from the wired side, for a mobile host.
    FromFixed(P),
    /// A packet came from a mobile host.
    FromMobile(P),
}

/// What an [`Agent`] asks of its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<P> {
    /// Send a packet across the hop.
    ToMobile {
        /// The packet.
        packet: P,
        /// Whether it goes before others: repairs and requests for repair do.
        priority: bool,
    },
    /// Send a packet to the wired side.
    ToFixed(P),
}

/// The two ends of a connection, as the gateway sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FlowName {
    pub(crate) mobile: SocketAddr,
    pub(crate) fixed: SocketAddr,
}

/// What an [`Agent`] has done, in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Data segments cached.
    pub cached: u64,
    /// Data segments that a limit kept out of the cache.
    pub uncached: u64,
    /// Segments sent again from the cache.
    pub repairs: u64,
    /// Of those, the ones that a timer brought about.
    pub timeouts: u64,
    /// Segments that their sender repeated while they were cached.
    pub sender_repeats: u64,
    /// Acknowledgements held back.
    pub held: u64,
    /// Duplicate acknowledgements that went on.
    pub passed: u64,
    /// Segments answered, since the mobile host had them.
    pub answered: u64,
    /// Acknowledgements marked with a loss on the air.
    pub marked: u64,
    /// What the mobile host's data were found to miss, and what was asked for.
    pub upload: UploadCounters,
    /// Segments, and connections, that passed without the agent taking part.
    pub ignored: IgnoredCounters,
}

/// Losses of data from mobile hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UploadCounters {
    /// Gaps seen.
    pub gaps: u64,
    /// Negative acknowledgements sent.
    pub asked: u64,
}

/// What passed untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IgnoredCounters {
    /// Packets that are no TCP segment, or none that the agent reads.
    pub foreign: u64,
    /// Segments whose numbers cannot belong to their connection.
    pub implausible: u64,
    /// Segments of connections for which there was no room.
    pub refused: u64,
}
