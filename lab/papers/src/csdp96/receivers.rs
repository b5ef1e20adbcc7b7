//! What mobile hosts' cards notice of frames that they did not get, until they can tell.

use machine::RandomStream;
use scheduler::Hint;
use units::{Duration, Instant};

use super::parameters::Hints;

/// The cards of all mobile hosts, by number. Each hears the base station every few milliseconds, whomever that sends
/// to, so that it sees at once when the signal falls or rises again; what it saw goes with its next acknowledgement or
/// frame that gets through.
#[derive(Debug, Clone)]
pub(crate) struct Receivers {
    hints: Hints,
    chance: RandomStream,
    each: Vec<Receiver>,
}

/// What one card has not told yet.
#[derive(Debug, Clone, Copy, Default)]
struct Receiver {
    /// Frames that came damaged while the signal had not fallen.
    damaged: u32,
    /// Since when the signal has been too weak.
    weak: Option<Instant>,
    /// For how long it was, before it rose.
    faded: Option<Duration>,
}

impl Receivers {
    /// Cards with nothing to tell, so many of them.
    pub(crate) fn new(hints: Hints, count: u16, seed: u64) -> Self {
        Self {
            hints,
            chance: RandomStream::named(seed, "csdp96/receivers"),
            each: vec![Receiver::default(); usize::from(count)],
        }
    }

    /// A frame came damaged while the signal had not fallen; others joined it, or none did.
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

    /// The signal fell, or rose again.
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

    /// Something of a mobile host's gets through, and with it what its card has to tell.
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
