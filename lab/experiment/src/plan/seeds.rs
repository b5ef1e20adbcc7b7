//! The number of seeds for each case.

use serde::Deserialize;
use toml::Value;
use units::Probability;

use super::source::{Place, PlanError, Source};
use crate::statistics::Summary;

/// Upper limit of seeds per case; more is a slip of the user.
const MOST_SEEDS: u64 = 1_000_000;

/// Number of seeds for each case. Seeds count up from the first one of the plan, and are the same for every case, so
/// that schemes meet the same fades (common random numbers).
#[derive(Debug, Clone, PartialEq)]
pub enum Seeds {
    /// A fixed number.
    Fixed(u64),
    /// As many as a narrow confidence interval needs, for each case separately.
    Adaptive(Adaptive),
}

/// Seeds until the 95 % confidence interval is narrow enough.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adaptive {
    /// Least number of seeds; 2 or more.
    pub min: u64,
    /// Largest number of seeds, however wide the interval still is.
    pub max: u64,
    /// Half-width that is narrow enough, as a share of the mean.
    pub ci95: Probability,
    /// Name of the metric that decides; by default the first one of the experiment.
    pub metric: Option<String>,
}

impl Seeds {
    pub(super) fn read(value: &Value, source: &Source) -> Result<Self, PlanError> {
        let place = Place::new("experiment.seeds");
        let seeds = match value {
            Value::Integer(count) => Self::Fixed(u64::try_from(*count).unwrap_or(0)),
            Value::Table(_) => Self::Adaptive(source.read(value, &place)?),
            _ => Self::Fixed(0),
        };
        let sound = match &seeds {
            Self::Fixed(count) => (1..=MOST_SEEDS).contains(count),
            Self::Adaptive(rule) => rule.min >= 2 && rule.min <= rule.max && rule.max <= MOST_SEEDS,
        };
        sound.then_some(seeds).ok_or_else(|| {
            let allowed = format!(
                "give a count from 1 to {MOST_SEEDS}, or {{ min = 10, max = 200, ci95 = \"2 %\" }} \
                with 2 <= min <= max"
            );
            source.wrong(&place, allowed)
        })
    }

    /// Returns the number of seeds that each case starts with.
    pub(crate) fn initial(&self) -> u64 {
        match self {
            Self::Fixed(count) => *count,
            Self::Adaptive(rule) => rule.min,
        }
    }

    /// Returns the new number of seeds after `count` seeds gave `summary`; `None` if they were enough. Depends on the
    /// values alone, not on the order in which runs ended.
    pub(crate) fn next(&self, count: u64, summary: Option<&Summary>) -> Option<u64> {
        let Self::Adaptive(rule) = self else {
            return None;
        };
        let narrow = summary.is_some_and(|summary| {
            let half = summary.ci95.unwrap_or(f64::INFINITY);
            half <= rule.ci95.as_f64() * summary.mean.abs()
        });
        let more = (count + (count / 4).max(1)).min(rule.max);
        (!narrow && more > count).then_some(more)
    }
}
