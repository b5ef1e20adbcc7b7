//! The error models, which decide on the packets that the air loses: one file for each.
//!
//! The models are a closed set, so that a packet costs no indirect call. Each handles the transmissions of one
//! direction in their order and decides on the losses.

mod burst;
mod distance;
mod independent;
mod markov;
mod period;
mod recording;
mod replay;
mod temporal;
mod timeline;

pub use burst::BurstConfig;
pub use distance::DistanceConfig;
pub use independent::IndependentConfig;
pub use markov::MarkovConfig;
pub use period::{Distribution, PeriodConfig};
pub use recording::{Recording, StateChange};
pub use replay::{Begin, ReplayConfig};
pub use temporal::{LossRule, Sharing, StateLoss, TemporalConfig};
pub use timeline::{Period, Timeline};

use machine::RandomStream;
use serde::Deserialize;
use units::{Bytes, Probability};

use crate::Direction;
use crate::airtime::Airtime;
use crate::problem::Problem;

/// An error model and its parameters, as in a link's file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum ErrorConfig {
    /// Nothing is lost.
    None(NoErrors),
    /// Each packet is lost with the same probability.
    Independent(IndependentConfig),
    /// A good and a bad state that alternate in time.
    Temporal(TemporalConfig),
    /// Errors at exponentially distributed distances in bytes.
    Distance(DistanceConfig),
    /// Bursts of exactly n packets.
    Burst(BurstConfig),
    /// A good and a bad state that change from bit to bit.
    Markov(MarkovConfig),
    /// Recorded state changes.
    Replay(ReplayConfig),
}

/// Parameters of the model without errors; there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoErrors {}

impl Default for ErrorConfig {
    fn default() -> Self {
        Self::None(NoErrors {})
    }
}

impl ErrorConfig {
    /// Checks the parameters; the error names the key and the allowed values.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        match self {
            Self::None(_) | Self::Independent(_) => Ok(()),
            Self::Temporal(config) => config.check(),
            Self::Distance(config) => config.check(),
            Self::Burst(config) => config.check(),
            Self::Markov(config) => config.check(),
            Self::Replay(config) => config.check(),
        }
    }

    /// Returns true if packets of both directions use one model, in the order in which they are sent.
    pub(crate) fn is_common(&self) -> bool {
        matches!(self, Self::Markov(config) if config.state == Sharing::Shared)
    }

    /// Returns the state changes of `direction` with `seed`; `None` if the model has no states in time.
    pub(crate) fn timeline(&self, seed: u64, direction: Direction) -> Option<Timeline> {
        match self {
            Self::Temporal(config) => Some(config.timeline(seed, direction)),
            Self::Replay(config) => Some(config.timeline(seed)),
            Self::None(_)
            | Self::Independent(_)
            | Self::Distance(_)
            | Self::Burst(_)
            | Self::Markov(_) => None,
        }
    }

    /// Returns the loss probability by state, without losses that depend on the size of a packet.
    pub(crate) fn state_loss(&self) -> StateLoss {
        let always_good = |p| StateLoss {
            good: p,
            bad: p,
            rule: LossRule::Instant,
        };
        match self {
            Self::Temporal(config) => config.loss(),
            Self::Replay(config) => config.loss(),
            Self::Independent(config) => always_good(config.p),
            Self::None(_) | Self::Distance(_) | Self::Burst(_) | Self::Markov(_) => {
                always_good(Probability::NEVER)
            }
        }
    }

    pub(crate) fn build(&self, seed: u64, direction: Direction) -> ErrorModel {
        let stream = RandomStream::named(seed, &format!("channel/errors/{direction}"));
        match self {
            Self::None(_) => ErrorModel::None,
            Self::Independent(config) => {
                ErrorModel::Independent(independent::Independent::new(config, stream))
            }
            Self::Temporal(config) => {
                let timeline = config.timeline(seed, direction);
                ErrorModel::Temporal(temporal::Temporal::new(timeline, config.loss(), stream))
            }
            Self::Replay(config) => {
                let timeline = config.timeline(seed);
                ErrorModel::Temporal(temporal::Temporal::new(timeline, config.loss(), stream))
            }
            Self::Distance(config) => ErrorModel::Distance(distance::Distance::new(config, stream)),
            Self::Burst(config) => ErrorModel::Burst(burst::Burst::new(config, stream)),
            Self::Markov(config) => ErrorModel::Markov(markov::Markov::new(config, stream)),
        }
    }
}

/// The error process of one direction.
#[derive(Debug, Clone)]
pub(crate) enum ErrorModel {
    None,
    Independent(independent::Independent),
    Temporal(temporal::Temporal),
    Distance(distance::Distance),
    Burst(burst::Burst),
    Markov(markov::Markov),
}

impl ErrorModel {
    /// Returns true if the next transmission is lost.
    pub(crate) fn loses(&mut self, airtime: Airtime, size: Bytes) -> bool {
        match self {
            Self::None => false,
            Self::Independent(model) => model.loses(),
            Self::Temporal(model) => model.loses(airtime),
            Self::Distance(model) => model.loses(size),
            Self::Burst(model) => model.loses(size),
            Self::Markov(model) => model.loses(size),
        }
    }
}
