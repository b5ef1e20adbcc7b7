//! Limits of a run, and reasons why it ends.

use thiserror::Error;
use units::Instant;

/// Limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest time, inclusive.
    pub until: Instant,
    /// Largest number of events: a deadline that came, or a packet that arrived.
    pub events: u64,
    /// Largest number of events at one instant.
    pub still: u64,
}

impl Limits {
    /// Returns limits for a run until `until`, with bounds that only a faulty run reaches: 10¹¹ events, and a million
    /// at one instant.
    pub fn until(until: Instant) -> Self {
        Self {
            until,
            events: 100_000_000_000,
            still: 1_000_000,
        }
    }
}

/// Reason why a run ended normally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The time limit was reached.
    Time,
    /// No event was left.
    Idle,
    /// An observer stopped the run.
    Stopped,
}

/// An actor and its number of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// Name of the actor: `node 'mobile'`, or `the link of 'gateway' and 'mobile'`.
    pub who: String,
    /// Number of its events.
    pub events: u64,
}

impl std::fmt::Display for Busy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} with {} events", self.who, self.events)
    }
}

/// Error in a run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RunError {
    /// Time stands still.
    #[error(
        "time stands still at {at} s: {events} events at one instant, most of the last by {busiest}; \
         a node there asks again and again for a deadline that has come, or nodes send each other \
         packets over links that take no time"
    )]
    Livelock {
        /// Time at which it stands.
        at: Instant,
        /// Number of events that the limit allows.
        events: u64,
        /// The busiest actor in the second half of these events.
        busiest: Busy,
    },
    /// The limit of events is reached.
    #[error(
        "{events} events and no end at {at} s, most of them by {busiest}; allow more events or less time"
    )]
    TooManyEvents {
        /// Time of the last event.
        at: Instant,
        /// Number of events that the limit allows.
        events: u64,
        /// The busiest actor in the whole run.
        busiest: Busy,
    },
    /// A node sends on a port without a link.
    #[error(
        "node '{node}' sends on port {port}, where no link is; connect one, or do not send there"
    )]
    Unconnected {
        /// Name of the node.
        node: String,
        /// Number of the port.
        port: u16,
    },
}
