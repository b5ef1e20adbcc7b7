//! The observations of the mobile hosts' cards on lost frames, until they are reported.

use machine::RandomStream;
use scheduler::Hint;
use units::{Duration, Instant};

use super::parameters::Hints;

/// The cards of all mobile hosts, by number. Each receives the base station every few milliseconds, whatever the
/// destination, so that it detects at once when the signal falls or rises again; it reports with its next
/// acknowledgement or frame that gets through.
#[derive(Debug, Clone)]
pub(crate) struct Receivers {
    hints: Hints,
    chance: RandomStream,
    each: Vec<Receiver>,
}

/// The unreported observations of one card.
#[derive(Debug, Clone, Copy, Default)]
struct Receiver {
    /// Number of frames that arrived damaged at full signal.
    damaged: u32,
    /// Time since which the signal has been too weak.
    weak: Option<Instant>,
    /// Duration of the last fade, once the signal has risen.
    faded: Option<Duration>,
}

impl Receivers {
    /// Creates `count` cards with nothing to report.
    pub(crate) fn new(hints: Hints, count: u16, seed: u64) -> Self {
        Self {
            hints,
            chance: RandomStream::named(seed, "csdp96/receivers"),
            each: vec![Receiver::default(); usize::from(count)],
        }
    }

    /// Notes a frame that arrived damaged at full signal; `joined` is true if other frames collided with it.
    pub(crate) fn damaged(&mut self, mobile: u16, joined: bool) {
        let is_noticed = self.chance.chance(self.hints.told);
        let is_mistaken = self.chance.chance(self.hints.mistaken) && joined;
        if let Some(receiver) = self.each.get_mut(usize::from(mobile))
            && is_noticed
            && !is_mistaken
        {
            receiver.damaged = receiver.damaged.saturating_add(1);
        }
    }

    /// Notes that the signal fell, or rose again.
    pub(crate) fn changed(&mut self, now: Instant, mobile: u16, is_good: bool) {
        let is_noticed = self.chance.chance(self.hints.told);
        let Some(receiver) = self.each.get_mut(usize::from(mobile)) else {
            return;
        };
        if !is_good {
            receiver.weak = is_noticed.then_some(now);
        } else if let Some(since) = receiver.weak.take() {
            receiver.faded = Some(now.since(since));
        }
    }

    /// Returns the report of a mobile host's card when a frame of that host gets through.
    pub(crate) fn tell(&mut self, mobile: u16) -> impl Iterator<Item = Hint> + use<> {
        let receiver = self.each.get_mut(usize::from(mobile));
        let hints = receiver.map(|receiver| {
            let Receiver {
                damaged,
                weak,
                faded,
            } = *receiver;
            *receiver = Receiver {
                weak,
                ..Receiver::default()
            };
            let signal = match weak {
                Some(_) => Hint::Fallen,
                None => Hint::Risen { faded },
            };
            let damaged = (damaged > 0).then_some(Hint::Damaged(damaged));
            [damaged, Some(signal)]
        });
        hints.into_iter().flatten().flatten()
    }
}
