//! The retransmission policies: one rule a file.
//!
//! A rule is a pure function of a [`RuleInput`]. The client does everything else.

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

/// Retransmission policy over datagrams. (Over a stream, calls are sent again after a reconnection and only then.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum Policy {
    /// The classic client's exponential back-off.
    Exponential(Exponential),
    /// Linear back-off: each timeout adds a constant.
    Linear(Linear),
    /// Linear back-off for the first timeouts, exponential from then on.
    HybridLinear(HybridLinear),
    /// Timeouts by measured round trips and reports of the hop.
    Adaptive(Adaptive),
}

impl Default for Policy {
    fn default() -> Self {
        Self::Adaptive(Adaptive::default())
    }
}

/// Input of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleInput {
    /// Number of timeouts of this call so far (R in Dube et al. 1997). If the policy carries timeouts over, those of
    /// the call before it are included.
    pub timeouts: u32,
    /// Round-trip estimate of its class.
    pub round_trip: Option<RoundTrip>,
    /// Round-trip estimate of the slowest class.
    pub slowest: Option<RoundTrip>,
}

impl Policy {
    /// Returns the time that a call waits for its reply after a transmission.
    pub fn wait(&self, situation: &RuleInput) -> Duration {
        self.rule().wait(situation)
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is out of its limits.
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

/// Decisions of a policy.
pub(crate) trait Rule: Debug {
    /// Returns the time to wait for a reply after a transmission; more than zero.
    fn wait(&self, situation: &RuleInput) -> Duration;

    /// Returns the time from the last transmission of a call to its retransmission, after an outage of the hop or the
    /// server; none if the rule ignores outages. `faded` is set if the call was sent during the outage.
    fn resume(&self, _situation: &RuleInput, _faded: bool) -> Option<Duration> {
        None
    }

    /// Returns the time that a reported fade or hand-off is relied on: nothing is sent again within it.
    fn believes(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns the largest number of timeouts that the next call of the class starts with, until a round trip is
    /// measured.
    fn carried(&self) -> u32 {
        0
    }

    /// Returns the number of replies to later calls of its class that show a call to be lost; none if they do not.
    fn overtakers(&self) -> Option<u32> {
        None
    }

    /// Checks the parameters.
    fn check(&self) -> Result<(), ConfigError>;
}

/// Returns `base` doubled `doublings` times, at most `longest`.
fn doubled(base: Duration, doublings: u32, longest: Duration) -> Duration {
    // 2^64 of the least base exceeds every duration.
    let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
    (base * factor).min(longest)
}

/// Checks the parameters that most rules have.
fn check_spans(initial: Duration, maximum: Duration) -> Result<(), ConfigError> {
    check_rules(&[
        (!initial.is_zero(), "`initial` must be more than 0 s"),
        (maximum >= initial, "`maximum` must be at least `initial`"),
    ])
}
