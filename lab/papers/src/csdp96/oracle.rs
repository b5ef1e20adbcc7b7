//! A source of channel states that is wrong now and then.

use machine::RandomStream;
use serde::Deserialize;
use units::{Duration, Instant, Probability};

use super::opportunity::Channels;

/// The accuracy of reported channel states.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Accuracy {
    /// Probability that an observation of a channel gives its state; else it gives the opposite. All observations are
    /// independent, so at 50 % they say nothing about the state, and at 0 % they are always wrong.
    pub(crate) right: Probability,
    /// Time between two observations of a channel within one of its periods; if `None`, each period is observed once,
    /// when it begins.
    pub(crate) every: Option<Duration>,
}

impl Default for Accuracy {
    fn default() -> Self {
        Self {
            right: Probability::ALWAYS,
            every: None,
        }
    }
}

/// The observed states of all channels.
#[derive(Debug, Clone)]
pub(crate) struct Oracle {
    accuracy: Accuracy,
    chance: RandomStream,
    /// Time at which all channels are observed again.
    next: Option<Instant>,
    /// For each channel, true if it seems good.
    seems_good: Vec<bool>,
}

impl Oracle {
    /// Creates an oracle for this many channels, none of which was observed yet.
    pub(crate) fn new(accuracy: Accuracy, channels: u16, seed: u64) -> Self {
        Self {
            accuracy,
            chance: RandomStream::named(seed, "csdp96/oracle"),
            next: Some(Instant::ZERO),
            seems_good: vec![true; usize::from(channels)],
        }
    }

    /// Returns the time at which all channels are observed next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Observes a channel; returns its observed state (true for good) if that has changed.
    pub(crate) fn look(&mut self, mobile: u16, is_good: bool) -> Option<bool> {
        let is_right = self.chance.chance(self.accuracy.right);
        let seems_good = is_good == is_right;
        let before = self.seems_good.get_mut(usize::from(mobile))?;
        (std::mem::replace(before, seems_good) != seems_good).then_some(seems_good)
    }

    /// Observes all channels if that is due; returns those whose observed state has changed.
    pub(crate) fn look_around(&mut self, now: Instant, channels: &Channels) -> Vec<(u16, bool)> {
        if self.next.is_none_or(|next| next > now) {
            return Vec::new();
        }
        self.next = self.accuracy.every.map(|every| now + every);
        let all = 0..u16::try_from(self.seems_good.len()).unwrap_or(u16::MAX);
        let seen = all.filter_map(|mobile| {
            let seems_good = self.look(mobile, channels.is_good(mobile))?;
            Some((mobile, seems_good))
        });
        seen.collect()
    }
}
