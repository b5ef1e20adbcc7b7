//! The classic client's exponential back-off.

use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Rule, RuleInput, check_spans, doubled};
use crate::ConfigError;

/// Exponential back-off: the timeout doubles each time, up to a maximum. `minor_timeouts` timeouts in a row are a
/// *major* one, which begins the next cascade.
///
/// Dube et al. 1997 give the first timeout only, "around 700 ms"; the rest are the defaults of the NFS clients of
/// that time (nfs(5): timeo = 7 tenths of a second, retrans = 3, at most 60 s, the next cascade from twice the last
/// one's).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exponential {
    /// First timeout.
    pub initial: Duration,
    /// Longest timeout.
    pub maximum: Duration,
    /// Number of timeouts that make a major one. 0: there is none, the timeout doubles to the maximum and stays.
    pub minor_timeouts: u32,
    /// Start of the next cascade after a major timeout.
    pub cascade: Cascade,
}

/// Start of the next cascade after a major timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cascade {
    /// Twice the initial timeout of the cascade before (hard mounts of the nineties).
    #[default]
    Doubled,
    /// The initial timeout (Linux).
    Same,
}

impl Default for Exponential {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(700),
            maximum: Duration::from_secs(60),
            minor_timeouts: 3,
            cascade: Cascade::Doubled,
        }
    }
}

impl Rule for Exponential {
    fn wait(&self, situation: &RuleInput) -> Duration {
        let timeouts = situation.timeouts;
        let doublings = match (timeouts.checked_div(self.minor_timeouts), self.cascade) {
            (None, _) => timeouts,
            (Some(_), Cascade::Same) => timeouts % self.minor_timeouts,
            (Some(majors), Cascade::Doubled) => majors + timeouts % self.minor_timeouts,
        };
        doubled(self.initial, doublings, self.maximum)
    }

    fn check(&self) -> Result<(), ConfigError> {
        check_spans(self.initial, self.maximum)
    }
}
