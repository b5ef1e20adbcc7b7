//! Signals to applications about a hop: fades, hand-offs, and its connection state.
//!
//! Dube et al. (1997, §6) propose them: the driver detects a hand-off before the NFS client suffers from it. A
//! [`Signal`] is written as a line of JSON, and a [`Decoder`] reads such lines; `docs/signals.md` has the format, for
//! programs in any language.

mod condition;
mod decoder;
mod line;

pub use condition::{Change, Condition};
pub use decoder::{Decoder, Refusal};
use units::{Duration, Instant};

/// Version of the format. It changes if an old line would be misread; new events and new keys do not change it.
pub const VERSION: u64 = 1;
/// Maximum length of a line in bytes, its end included.
pub const LINE_MAX: usize = 1_024;
/// Maximum length of a peer's name in bytes.
pub const PEER_MAX: usize = 64;

/// An event on the hop to a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// Time of the event, by the monotonic clock of this machine, in whole microseconds.
    pub at: Instant,
    /// Name of the peer, as the operator chose it: at most [`PEER_MAX`] bytes without control characters.
    pub peer: String,
    /// Kind of event.
    pub event: Event,
    /// True if the event is a past one: a new listener gets it because it led to the present state.
    pub past: bool,
}

/// Kind of event on a hop. Durations are in whole microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The mobile host is about to change its place in the network; until it has, packets may be lost or delayed.
    HandoffImpending {
        /// Time until the hand-off; zero if it begins now.
        within: Duration,
    },
    /// No packets get through.
    Fade,
    /// The hop works: after the events before, or for the first time.
    Restored {
        /// True if all packets that the hop got meanwhile are delivered now.
        kept: bool,
        /// True if at least those of held flows are, which the hop keeps in order: TCP that it repairs, and file
        /// calls.
        held: bool,
        /// Time for which no packets got through, as far as is known.
        lasted: Duration,
    },
    /// There are no keys any more, or not yet: the peer is out of reach.
    Disconnected,
}

impl Event {
    /// Returns the name of the event in a line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::HandoffImpending { .. } => "handoff_impending",
            Self::Fade => "fade",
            Self::Restored { .. } => "restored",
            Self::Disconnected => "disconnected",
        }
    }
}
