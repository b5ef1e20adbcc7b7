//! Why a run ends.

use thiserror::Error;
use units::Instant;

/// How far a run may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Up to and with this time.
    pub until: Instant,
    /// So many events in all: a deadline that came, or a packet that arrived.
    pub events: u64,
    /// So many events without time moving on.
    pub still: u64,
}

impl Limits {
    /// Until `until`, with bounds that only a run that went astray meets: 10¹¹ events, and a million at
    /// one instant.
    pub fn until(until: Instant) -> Self {
        Self {
            until,
            events: 100_000_000_000,
            still: 1_000_000,
        }
    }
}

/// How a run ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its time was over.
    Time,
    /// Nothing was left to happen.
    Idle,
    /// An observer asked for it.
    Stopped,
}

/// An actor and how often it acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// `node 'mobile'`, or `the link of 'gateway' and 'mobile'`.
    pub who: String,
    /// How often.
    pub events: u64,
}

impl std::fmt::Display for Busy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} with {} events", self.who, self.events)
    }
}

/// How a run went astray.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RunError {
    /// Time stands still.
    #[error(
        "time stands still at {at} s: {events} events at one instant, most of the last by {busiest}; \
         a node there asks again and again for a deadline that has come, or nodes send each other \
         packets over links that take no time"
    )]
    Livelock {
        /// Where it stands.
        at: Instant,
        /// How many events the limit allows.
        events: u64,
        /// Who acted most, in the second half of these events.
        busiest: Busy,
    },
    /// The limit of events is reached.
    #[error(
        "{events} events and no end at {at} s, most of them by {busiest}; allow more events or less time"
    )]
    TooManyEvents {
        /// How far it came.
        at: Instant,
        /// How many events the limit allows.
        events: u64,
        /// Who acted most, in the whole run.
        busiest: Busy,
    },
    /// A node sends where nothing is connected.
    #[error(
        "node '{node}' sends on port {port}, where no link is; connect one, or do not send there"
    )]
    Unconnected {
        /// Its name.
        node: String,
        /// The port's number.
        port: u16,
    },
}
