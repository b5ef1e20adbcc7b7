//! The length of the periods of a state.

use machine::RandomStream;
use serde::Deserialize;
use units::Duration;

use crate::problem::Problem;

/// Smallest mean length of a good and a bad period together, so that a machine catches up quickly after a long time
/// without calls.
pub(super) const SHORTEST_CYCLE: Duration = Duration::from_micros(100);

/// Distribution of a period's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Every length from `low` to `high` is equally likely; by default from 0 to twice the mean.
    Uniform,
    /// Exponentially distributed (memoryless).
    Exponential,
    /// Always equal to the mean.
    Deterministic,
}

/// Length of the periods of the good or the bad state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeriodConfig {
    /// The distribution.
    pub distribution: Distribution,
    /// The mean; a uniform distribution can have `low` and `high` instead.
    pub mean: Option<Duration>,
    /// Lower end of a uniform distribution.
    pub low: Option<Duration>,
    /// Upper end of a uniform distribution.
    pub high: Option<Duration>,
}

impl PeriodConfig {
    /// Returns a period of this distribution and mean.
    pub fn with_mean(distribution: Distribution, mean: Duration) -> Self {
        Self {
            distribution,
            mean: Some(mean),
            low: None,
            high: None,
        }
    }

    /// Returns the distribution in numbers; with a `tick`, lengths are whole ticks.
    pub(super) fn law(&self, tick: Option<Duration>) -> Result<Law, Problem> {
        let ends = (self.low, self.high);
        let law = match (self.distribution, self.mean, ends) {
            (Distribution::Uniform, Some(mean), (None, None)) => Law::Uniform {
                low: Duration::ZERO,
                high: mean * 2,
            },
            (Distribution::Uniform, None, (Some(low), Some(high))) => Law::Uniform { low, high },
            (Distribution::Uniform, ..) => {
                let text = "a uniform period has either a mean (then it lies between 0 and twice \
                            the mean) or both low and high";
                return Err(Problem::new("mean", text));
            }
            (Distribution::Exponential, Some(mean), (None, None)) => Law::Exponential { mean },
            (Distribution::Deterministic, Some(mean), (None, None)) => Law::Fixed { length: mean },
            (Distribution::Exponential | Distribution::Deterministic, ..) => {
                let text = "this distribution has a mean, and neither low nor high";
                return Err(Problem::new("mean", text));
            }
        };
        law.check(tick)?;
        Ok(match tick {
            Some(tick) => law.in_ticks(tick),
            None => law,
        })
    }
}

/// Distribution of a length; with ticks, its numbers count ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Law {
    Uniform { low: Duration, high: Duration },
    Exponential { mean: Duration },
    Fixed { length: Duration },
    Ticks { tick: Duration, low: u64, high: u64 },
    ExponentialTicks { tick: Duration, mean: Duration },
}

impl Law {
    fn check(self, tick: Option<Duration>) -> Result<(), Problem> {
        let whole = |key: &str, length: Duration| match tick {
            Some(tick) if !length.as_nanos().is_multiple_of(tick.as_nanos()) => {
                let text = format!("{length} is not a whole number of ticks of {tick}");
                Err(Problem::new(key, text))
            }
            Some(_) | None => Ok(()),
        };
        let (key, longest) = match self {
            Self::Uniform { low, high } => {
                if low > high {
                    let text = format!("{high} is less than low ({low})");
                    return Err(Problem::new("high", text));
                }
                whole("low", low)?;
                whole("high", high)?;
                ("high", high)
            }
            Self::Exponential { mean } | Self::ExponentialTicks { mean, .. } => ("mean", mean),
            Self::Fixed { length } => {
                whole("mean", length)?;
                ("mean", length)
            }
            Self::Ticks { tick, high, .. } => ("high", tick * high),
        };
        if longest.is_zero() {
            return Err(Problem::new(key, "must be more than 0"));
        }
        Ok(())
    }

    fn in_ticks(self, tick: Duration) -> Self {
        let ticks = |length: Duration| length.as_nanos() / tick.as_nanos();
        match self {
            Self::Uniform { low, high } => Self::Ticks {
                tick,
                low: ticks(low),
                high: ticks(high),
            },
            Self::Exponential { mean } => Self::ExponentialTicks { tick, mean },
            Self::Fixed { .. } | Self::Ticks { .. } | Self::ExponentialTicks { .. } => self,
        }
    }

    /// Returns the mean length.
    pub(super) fn mean(self) -> Duration {
        match self {
            Self::Uniform { low, high } => low + (high - low) / 2,
            Self::Exponential { mean } => mean,
            Self::Fixed { length } => length,
            Self::Ticks { tick, low, high } => tick * (low + high) / 2,
            // Rounding up adds no more than a tick.
            Self::ExponentialTicks { tick, mean } => mean.max(tick),
        }
    }

    pub(super) fn draw(self, stream: &mut RandomStream) -> Duration {
        match self {
            Self::Uniform { low, high } => stream.uniform(low, high),
            Self::Exponential { mean } => Duration::from_nanos(stream.exponential(mean.as_nanos())),
            Self::Fixed { length } => length,
            Self::Ticks { tick, low, high } => tick * (low + stream.below(high - low + 1)),
            // A kernel's timer fires at the first tick after its time.
            Self::ExponentialTicks { tick, mean } => {
                let length = stream.exponential(mean.as_nanos());
                tick * length.div_ceil(tick.as_nanos()).max(1)
            }
        }
    }
}
