//! When to send a call again: one rule a file.
//!
//! A rule is a pure function of a [`Situation`]. Everything else is the client's.

mod adaptive;
mod exponential;
mod hybrid_linear;
mod linear;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use units::Duration;

pub use adaptive::Adaptive;
pub use exponential::{Cascade, Exponential};
pub use hybrid_linear::HybridLinear;
pub use linear::Linear;

use crate::config::check_rules;
use crate::{ConfigError, RoundTrip};

/// When a call is sent again over datagrams. (Over a stream, that is after a reconnection and only then.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum Policy {
    /// The classic client's doubling.
    Exponential(Exponential),
    /// A constant more each time.
    Linear(Linear),
    /// A constant more a few times, doubling from then on.
    HybridLinear(HybridLinear),
    /// By measured round trips and what the hop reports.
    Adaptive(Adaptive),
}

impl Default for Policy {
    fn default() -> Self {
        Self::Adaptive(Adaptive::default())
    }
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Situation {
    /// Timeouts of this call so far (R in Dube et al. 1997). Under a policy that carries them on, with those that the
    /// call before it left behind.
    pub timeouts: u32,
    /// What is known of calls of its class.
    pub round_trip: Option<RoundTrip>,
    /// What is known of the slowest class.
    pub slowest: Option<RoundTrip>,
}

impl Policy {
    /// How long a call waits for its reply after it was sent.
    pub fn wait(&self, situation: &Situation) -> Duration {
        self.rule().wait(situation)
    }

    /// Says what is wrong with the configuration, if anything is.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.rule().check()
    }

    pub(crate) fn rule(&self) -> &dyn Rule {
        match self {
            Self::Exponential(rule) => rule,
            Self::Linear(rule) => rule,
            Self::HybridLinear(rule) => rule,
            Self::Adaptive(rule) => rule,
        }
    }
}

/// A policy's decisions.
pub(crate) trait Rule: Debug {
    /// How long to wait for a reply after the call was sent; more than nothing.
    fn wait(&self, situation: &Situation) -> Duration;

    /// When the hop works again after a fade or a hand-off, or the server after a silence: how long after it was sent
    /// last a call that may be lost is sent again. `faded` says that it was sent when nothing worked. Nothing where
    /// the rule does not listen.
    fn resume(&self, _situation: &Situation, _faded: bool) -> Option<Duration> {
        None
    }

    /// For how long a reported fade or hand-off is believed: so long, nothing is sent again.
    fn believes(&self) -> Duration {
        Duration::ZERO
    }

    /// Timeouts that the next call of the class starts with, at most, until a round trip is measured.
    fn carried(&self) -> u32 {
        0
    }

    /// Replies to later calls of its class that show a call to be lost.
    fn overtakers(&self) -> Option<u32> {
        None
    }

    /// What is wrong with the parameters.
    fn check(&self) -> Result<(), ConfigError>;
}

/// `base` doubled so many times, at most `longest`.
fn doubled(base: Duration, doublings: u32, longest: Duration) -> Duration {
    // 2^64 of the least base exceeds every span.
    let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
    (base * factor).min(longest)
}

/// The parameters that most rules have.
fn check_spans(initial: Duration, maximum: Duration) -> Result<(), ConfigError> {
    check_rules(&[
        (!initial.is_zero(), "`initial` must be more than 0 s"),
        (maximum >= initial, "`maximum` must be at least `initial`"),
    ])
}
