//! Faults from the command line, which replace those of the link.

use std::str::FromStr;

use channel::{ExponentialConfig, FaultChanges, JitterConfig, ReorderingConfig, UniformConfig};
use thiserror::Error;
use units::{Duration, Probability};

/// Options for faults, in both directions.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct FaultOptions {
    /// Delay each packet by a random time of its own, so that packets overtake each other: up to a time, such as
    /// '20 ms', or exponentially distributed with a mean, such as 'exponential:5 ms'
    #[arg(long, value_name = "TIME|exponential:TIME")]
    jitter: Option<Jitter>,
    /// Keep the packets in order in spite of --jitter: a packet waits for those before it
    #[arg(long, requires = "jitter")]
    keep_order: bool,
    /// Hold a share of the packets back for a time, such as '1 %:10 ms', so that others overtake them
    #[arg(long, value_name = "SHARE:TIME")]
    reorder: Option<Reorder>,
    /// Deliver a share of the packets twice, such as '10 %'
    #[arg(long, value_name = "SHARE")]
    duplicate: Option<Probability>,
    /// Deliver a share of the packets with flipped bits, such as '0.1 %'
    #[arg(long, value_name = "SHARE")]
    corrupt: Option<Probability>,
}

impl FaultOptions {
    /// Returns what they change in a link.
    pub(super) fn changes(&self) -> FaultChanges {
        let jitter = self.jitter.as_ref();
        FaultChanges {
            jitter: jitter.map(|jitter| (jitter.0.clone(), !self.keep_order)),
            reordering: self.reorder.as_ref().map(|reorder| reorder.0.clone()),
            duplicates: self.duplicate,
            corruption: self.corrupt,
        }
    }
}

/// Reason why a fault cannot be parsed.
#[derive(Debug, Error)]
pub(crate) enum FaultError {
    /// A jitter that is no time.
    #[error("'{0}' is not a jitter; write it like '20 ms' or 'exponential:5 ms'")]
    Jitter(String),
    /// A reordering that is no share with a time.
    #[error("'{0}' is not a reordering; write the share and the time like '1 %:10 ms'")]
    Reorder(String),
}

#[derive(Debug, Clone)]
struct Jitter(JitterConfig);

impl FromStr for Jitter {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let malformed = || FaultError::Jitter(text.into());
        let time = |text: &str| text.trim().parse::<Duration>().map_err(|_| malformed());
        Ok(Self(match text.split_once(':') {
            None => JitterConfig::Uniform(UniformConfig { most: time(text)? }),
            Some(("exponential", mean)) => {
                JitterConfig::Exponential(ExponentialConfig { mean: time(mean)? })
            }
            Some(_) => return Err(malformed()),
        }))
    }
}

#[derive(Debug, Clone)]
struct Reorder(ReorderingConfig);

impl FromStr for Reorder {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let parts = text.split_once(':');
        let parsed = parts.and_then(|(share, hold)| {
            let share = share.trim().parse().ok()?;
            let hold = hold.trim().parse().ok()?;
            Some(ReorderingConfig { share, hold })
        });
        parsed
            .map(Self)
            .ok_or_else(|| FaultError::Reorder(text.into()))
    }
}
