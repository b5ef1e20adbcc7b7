//! Replay of recorded state changes.
//!
//! As in Noble, Satyanarayanan, Nguyen, Katz, "Trace-Based Mobile Network Emulation", SIGCOMM 1997: every run meets the
//! same fades.

use std::sync::Arc;

use machine::RandomStream;
use serde::Deserialize;
use units::{Duration, Probability};

use super::recording::Recording;
use super::temporal::{LossRule, StateLoss, always};
use super::timeline::Timeline;
use crate::problem::Problem;

/// Position in a recording at which a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// The beginning, whatever the seed.
    #[default]
    Origin,
    /// A position drawn from the seed, so that runs with different seeds use different parts; for recordings that
    /// repeat.
    Anywhere,
}

/// Parameters of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayConfig {
    /// Name of the file that holds the state changes, in the format of [`Recording::parse`].
    pub file: String,
    /// Time after which the recording repeats; by default its last state holds for ever.
    pub repeat: Option<Duration>,
    /// Position in the recording at which a run begins.
    #[serde(default)]
    pub begin: Begin,
    /// Probability that a packet is lost in the good state.
    #[serde(default)]
    pub loss_good: Probability,
    /// Probability that a packet is lost in the bad state.
    #[serde(default = "always")]
    pub loss_bad: Probability,
    /// Rule that selects the state for a packet.
    #[serde(default)]
    pub rule: LossRule,
    /// Content of the file; set when the link is loaded.
    #[serde(skip)]
    pub recording: Option<Arc<Recording>>,
}

impl ReplayConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        let Some(_) = &self.recording else {
            return Err(Problem::new("file", "the recording has not been read"));
        };
        if self.begin == Begin::Anywhere && self.repeat.is_none() {
            let text = "'anywhere' is for a recording that begins anew: give `repeat`";
            return Err(Problem::new("begin", text));
        }
        Ok(())
    }

    /// Parses the content of the file and keeps it.
    pub(crate) fn load(&mut self, text: &str) -> Result<(), Problem> {
        let name = &self.file;
        let recording = Recording::parse(text, self.repeat)
            .map_err(|error| Problem::new("file", format!("'{name}', {error}")))?;
        self.recording = Some(Arc::new(recording));
        Ok(())
    }

    pub(super) fn timeline(&self, seed: u64) -> Timeline {
        let recording = self.recording.clone();
        let recording = recording.expect("a link's configuration was checked");
        let start = match (self.begin, self.repeat) {
            (Begin::Anywhere, Some(repeat)) => {
                let last = repeat.saturating_sub(Duration::from_nanos(1));
                // One stream name for both directions: they fade together.
                RandomStream::named(seed, "channel/replay").uniform(Duration::ZERO, last)
            }
            (Begin::Origin, _) | (_, None) => Duration::ZERO,
        };
        Timeline::recorded(recording, start)
    }

    pub(super) fn loss(&self) -> StateLoss {
        StateLoss {
            good: self.loss_good,
            bad: self.loss_bad,
            rule: self.rule,
        }
    }
}
