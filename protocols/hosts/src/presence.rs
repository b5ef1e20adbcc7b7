//! The places of peers and their registration: by their first session, until they leave or are silent for the life of
//! their keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::candidate::Candidate;

/// Presence of a peer.
#[derive(Debug)]
pub(crate) struct Presence {
    /// Group address at which it is sought, if its own is not known.
    pub(crate) sought: Option<HopAddress>,
    state: State,
    /// Time when the current keys were made.
    keys_since: Option<Instant>,
    /// Time when the last datagram came from it.
    pub(crate) heard_at: Option<Instant>,
    /// Address that it seems to have now, which is not validated yet.
    pub(crate) candidate: Option<Box<Candidate>>,
    /// Number and source of its question about its binding, if the answer is due later.
    pub(crate) asked: Option<(u16, HopAddress)>,
    /// Change of this host's place in the network, until the peer was reached from the new one.
    pub(crate) moving: Option<HandOff>,
}

/// State of a change of this host's place in the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandOff {
    pub(crate) since: Instant,
    /// True if the change is complete: what arrives from now on arrives at the new place.
    pub(crate) arrived: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Unknown,
    Registered { since: Instant },
    Left { at: Instant },
    Expired { at: Instant },
}

/// Registration of a peer. Times are ages at the time of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Registration {
    /// Nothing has been received from it since this host started.
    Unknown,
    /// The peer is registered.
    Registered {
        /// Time since its registration.
        lasted: Duration,
        /// Time since the last datagram from it.
        heard: Duration,
        /// Time until its keys expire, unless it renews them.
        expires_in: Duration,
    },
    /// It reported that it leaves.
    Left {
        /// Time since then.
        ago: Duration,
    },
    /// It was silent until its keys expired.
    Expired {
        /// Time since then.
        ago: Duration,
    },
}

impl Presence {
    /// Returns the presence of a peer of which only an address is known, if any.
    pub(crate) fn new(endpoint: Option<HopAddress>) -> Self {
        Self {
            sought: endpoint.filter(|endpoint| endpoint.is_group()),
            state: State::Unknown,
            keys_since: None,
            heard_at: None,
            candidate: None,
            asked: None,
            moving: None,
        }
    }

    /// Returns true if there are keys.
    pub(crate) fn is_linked(&self) -> bool {
        self.keys_since.is_some()
    }

    /// Returns true if it reported that it leaves, and has not come back.
    pub(crate) fn has_left(&self) -> bool {
        matches!(self.state, State::Left { .. })
    }

    /// Returns the time when the last datagram came from it.
    pub(crate) fn heard_at(&self) -> Option<Instant> {
        self.heard_at
    }

    /// Returns the age of the keys, if there are any.
    pub(crate) fn keys_age(&self, now: Instant) -> Option<Duration> {
        self.keys_since.map(|since| now.since(since))
    }

    /// Records new keys.
    pub(crate) fn established(&mut self, now: Instant) {
        self.keys_since = Some(now);
        self.heard_at = Some(now);
        if !matches!(self.state, State::Registered { .. }) {
            self.state = State::Registered { since: now };
        }
    }

    /// Records that the peer has left.
    pub(crate) fn left(&mut self, now: Instant) {
        self.keys_since = None;
        self.candidate = None;
        self.state = State::Left { at: now };
    }

    /// Records that its keys have expired.
    pub(crate) fn expired(&mut self, now: Instant) {
        self.keys_since = None;
        self.candidate = None;
        self.state = State::Expired { at: now };
    }

    /// Returns the registration for a status; `expires_at` is the time when the keys expire.
    pub(crate) fn registration(&self, now: Instant, expires_at: Option<Instant>) -> Registration {
        match self.state {
            State::Unknown => Registration::Unknown,
            State::Registered { since } => Registration::Registered {
                lasted: now.since(since),
                heard: now.since(self.heard_at.unwrap_or(since)),
                expires_in: expires_at.map_or(Duration::ZERO, |at| at.since(now)),
            },
            State::Left { at } => Registration::Left { ago: now.since(at) },
            State::Expired { at } => Registration::Expired { ago: now.since(at) },
        }
    }
}
