//! A channel that tells its state, now and then wrongly.

use machine::RandomStream;
use serde::Deserialize;
use units::{Duration, Instant, Probability};

use super::opportunity::Channels;

/// How often what channels tell is right.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Accuracy {
    /// The chance that a look at a channel gives its state; else it gives the opposite. All looks are independent, so
    /// at 50 % what is seen has nothing to do with the state, and at 0 % it is always wrong.
    pub(crate) right: Probability,
    /// The time between two looks at a channel within one of its periods; without it each period is looked at once,
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

/// What is seen of all channels.
#[derive(Debug, Clone)]
pub(crate) struct Oracle {
    accuracy: Accuracy,
    chance: RandomStream,
    /// When all are looked at again.
    next: Option<Instant>,
    /// Whether each seems good.
    seems_good: Vec<bool>,
}

impl Oracle {
    /// All of so many channels are about to be looked at for the first time.
    pub(crate) fn new(accuracy: Accuracy, channels: u16, seed: u64) -> Self {
        Self {
            accuracy,
            chance: RandomStream::named(seed, "csdp96/oracle"),
            next: Some(Instant::ZERO),
            seems_good: vec![true; usize::from(channels)],
        }
    }

    /// When all are looked at next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Looks at a channel; whether it seems good, if it did not seem so before, or no longer does.
    pub(crate) fn look(&mut self, mobile: u16, is_good: bool) -> Option<bool> {
        let is_right = self.chance.chance(self.accuracy.right);
        let seems_good = is_good == is_right;
        let before = self.seems_good.get_mut(usize::from(mobile))?;
        (std::mem::replace(before, seems_good) != seems_good).then_some(seems_good)
    }

    /// Looks at all, if that is due; gives those that seem to have changed.
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
