//! What applications are told of a hop: fades, hand-offs, and whether there is a hop at all.
//!
//! Dube et al. (1997, §6) ask for it: the driver knows of a hand-off before the NFS client suffers from it. A
//! [`Signal`] is written as a line of JSON, and a [`Decoder`] reads such lines; `docs/signals.md` has the format, for
//! programs in any language.

mod condition;
mod decoder;
mod line;

pub use condition::{Change, Condition};
pub use decoder::{Decoder, Refusal};
use units::{Duration, Instant};

/// The version of the format. It changes when a line of old would be misread; new events and new keys do not count.
pub const VERSION: u64 = 1;
/// The longest line in bytes, its end included.
pub const LINE_MAX: usize = 1_024;
/// The longest name of a peer in bytes.
pub const PEER_MAX: usize = 64;

/// Something happened on the hop to a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// When it happened, by the monotonic clock of this machine, in whole microseconds.
    pub at: Instant,
    /// The other end of the hop, as the operator calls it: at most [`PEER_MAX`] bytes without control characters.
    pub peer: String,
    /// What happened.
    pub event: Event,
    /// It is over long since: it is told to somebody new, because it led to the present state.
    pub past: bool,
}

/// What happens on a hop. Spans are in whole microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The mobile host is about to change its place in the network, and nothing may get through meanwhile.
    HandoffImpending {
        /// In how long; nothing if it begins now.
        within: Duration,
    },
    /// Nothing gets through.
    Fade,
    /// All is well: after what came before, or for the first time.
    Restored {
        /// What the hop was given meanwhile is delivered now, all of it.
        kept: bool,
        /// At least that of flows which the hop holds in order is: TCP that it repairs, and calls of files.
        held: bool,
        /// How long nothing got through, as far as that is known.
        lasted: Duration,
    },
    /// There are no keys any more, or none yet: the other end is out of reach.
    Disconnected,
}

impl Event {
    /// As it is called in a line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::HandoffImpending { .. } => "handoff_impending",
            Self::Fade => "fade",
            Self::Restored { .. } => "restored",
            Self::Disconnected => "disconnected",
        }
    }
}
