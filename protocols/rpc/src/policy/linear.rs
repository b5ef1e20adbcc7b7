//! Linear back-off: each timeout adds a constant.

use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Rule, RuleInput, check_spans};
use crate::ConfigError;

/// Linear back-off: each timeout adds a constant, Initial + c·R, up to a maximum (Dube et al. 1995). For comparison:
/// many such clients keep a congested server congested. The papers publish neither constant; `initial` is the classic
/// client's first timeout, `step` is our assumption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Linear {
    /// First timeout (Initial).
    pub initial: Duration,
    /// Increment by each timeout (c).
    pub step: Duration,
    /// Longest timeout.
    pub maximum: Duration,
}

impl Default for Linear {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(700),
            step: Duration::from_millis(100),
            maximum: Duration::from_secs(60),
        }
    }
}

impl Rule for Linear {
    fn wait(&self, situation: &RuleInput) -> Duration {
        let added = self.step * u64::from(situation.timeouts);
        (self.initial + added).min(self.maximum)
    }

    fn check(&self) -> Result<(), ConfigError> {
        check_spans(self.initial, self.maximum)
    }
}
