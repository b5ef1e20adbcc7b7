//! The addresses of a peer that are not in use, and why.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use wire::address::HopAddress;

/// Most addresses that are remembered: those of a search, and one that was in use.
const MOST: usize = super::search::PLACES + 1;

/// What is known of an address of a peer that is not in use. Programs may rely on the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceState {
    /// It is asked, and has not answered yet.
    Asked,
    /// It was in use, and no longer answered.
    Silent,
    /// No process listens at its port.
    Refused,
    /// No datagram can leave for it.
    NoRoute,
}

/// Address of a peer that is not in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceStatus {
    /// The address.
    pub at: HopAddress,
    /// What is known of it.
    pub state: PlaceState,
    /// Time since that became known.
    pub ago: Duration,
}

/// The addresses of a peer that are not in use, the one with the latest news last.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<(HopAddress, PlaceState, Instant)>);

impl fmt::Display for PlaceState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Asked => "no answer yet",
            Self::Silent => "was silent",
            Self::Refused => "no process listens at its port",
            Self::NoRoute => "no route",
        })
    }
}

impl fmt::Display for PlaceStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} ({} ago)", self.at, self.state, self.ago)
    }
}

impl Places {
    /// Records news of an address.
    pub(crate) fn note(&mut self, now: Instant, at: HopAddress, state: PlaceState) {
        self.0.retain(|(known, _, _)| *known != at);
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push((at, state, now));
    }

    /// Returns true if something is known of an address.
    pub(crate) fn has(&self, at: HopAddress) -> bool {
        self.0.iter().any(|(known, _, _)| *known == at)
    }

    /// Records that the peer was found at an address: what is only asked elsewhere need not answer.
    pub(crate) fn found(&mut self, found: HopAddress) {
        self.0
            .retain(|(at, state, _)| *at != found && *state != PlaceState::Asked);
    }

    /// Returns them all but the one in use.
    pub(crate) fn status(&self, now: Instant, in_use: Option<HopAddress>) -> Vec<PlaceStatus> {
        let others = self.0.iter().filter(|(at, _, _)| in_use != Some(*at));
        let status = |(at, state, since): &(HopAddress, PlaceState, Instant)| PlaceStatus {
            at: *at,
            state: *state,
            ago: now.since(*since),
        };
        others.map(status).collect()
    }
}
