//! Linear back-off for the first timeouts, exponential from then on.

use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Rule, RuleInput, check_spans, doubled};
use crate::ConfigError;
use crate::config::check_rules;

/// The hybrid linear back-off of Dube, Rais and Tripathi 1997 (§5.2): it takes the first few losses for a fade, those
/// after them for congestion.
///
/// After R timeouts the next one is Initial + c·R for R ≤ a, and 2^(R−a) times the last of these from there on, at
/// most Max Timeout. The displayed formula did not survive; it is put together from the text around it. The paper
/// publishes a = 3 only: `initial` is the minimum timeout that it gives for the unchanged client, `step` and
/// `maximum` are our assumptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HybridLinear {
    /// First timeout (Initial).
    pub initial: Duration,
    /// Increment by each of the first timeouts (c).
    pub step: Duration,
    /// Number of timeouts before doubling begins (a).
    pub linear_steps: u32,
    /// Longest timeout (Max Timeout).
    pub maximum: Duration,
}

impl Default for HybridLinear {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(700),
            step: Duration::from_millis(100),
            linear_steps: 3,
            maximum: Duration::from_secs(60),
        }
    }
}

impl Rule for HybridLinear {
    fn wait(&self, situation: &RuleInput) -> Duration {
        let added = self.step * u64::from(situation.timeouts.min(self.linear_steps));
        let doublings = situation.timeouts.saturating_sub(self.linear_steps);
        doubled(self.initial + added, doublings, self.maximum)
    }

    fn check(&self) -> Result<(), ConfigError> {
        check_spans(self.initial, self.maximum)?;
        let last = self.initial + self.step * u64::from(self.linear_steps);
        check_rules(&[(
            last <= self.maximum,
            "`initial` + `linear_steps` × `step` must not exceed `maximum`",
        )])
    }
}
