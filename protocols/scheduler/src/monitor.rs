//! Which channels are taken for bad (the paper's link status monitor): one way to know it a file.

mod acknowledgements;
mod burst;
mod perfect;
mod probing;

use std::fmt::Debug;

use units::{Duration, Instant};

use self::burst::BurstLength;
use crate::{Hint, Outcome, config};

/// What is known of one destination's channel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Channel {
    /// Whether it is taken for bad.
    pub(crate) is_marked: bool,
    /// When the monitor wants to look at it again.
    pub(crate) due: Option<Instant>,
    /// How long its bursts were.
    pub(crate) bursts: BurstLength,
    /// Acknowledgements missing in a row.
    missing: u32,
    burst: Option<Burst>,
}

/// A burst of losses that has not ended, as far as is known.
#[derive(Debug, Clone, Copy)]
struct Burst {
    /// When the first acknowledgement was missing.
    since: Instant,
    /// When the latest was.
    latest: Instant,
    /// How long to wait before the channel is looked at again.
    wait: Option<Duration>,
}

impl Channel {
    /// An acknowledgement is missing. Returns the burst, if by now it is one: after so many in a row, or where it is
    /// known for certain.
    fn missed(&mut self, now: Instant, missing: u32, certain: bool) -> Option<&mut Burst> {
        self.missing = self.missing.saturating_add(1);
        let burst = self.burst.get_or_insert(Burst {
            since: now,
            latest: now,
            wait: None,
        });
        burst.latest = now;
        (self.missing >= missing || certain).then_some(burst)
    }

    /// A receiver told what became of frames whose acknowledgements are missing. Returns whether the signal has fallen.
    fn learn(&mut self, now: Instant, hint: Hint) -> bool {
        match hint {
            Hint::Damaged(frames) => self.excuse(frames),
            Hint::Risen { faded } => {
                if let Some(length) = faded {
                    self.burst = None;
                    self.bursts.seen(length);
                }
                self.heard(now);
            }
            Hint::Fallen => return true,
        }
        false
    }

    /// So many of the missing acknowledgements mean no fade.
    fn excuse(&mut self, frames: u32) {
        let was_missing = self.missing > 0;
        self.missing = self.missing.saturating_sub(frames);
        if was_missing && self.missing == 0 {
            self.burst = None;
            self.is_marked = false;
            self.due = None;
        }
    }

    /// Something was acknowledged, so that any burst has ended; it did since the last acknowledgement that was missing,
    /// and is taken to have ended halfway.
    fn heard(&mut self, now: Instant) {
        self.missing = 0;
        self.is_marked = false;
        self.due = None;
        if let Some(burst) = self.burst.take().filter(|burst| burst.wait.is_some()) {
            let unheard = now.since(burst.latest) / 2;
            self.bursts.seen(burst.latest.since(burst.since) + unheard);
        }
    }
}

/// What a monitor wants when it looks at a channel again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing more: it has changed what is known.
    Only,
    /// A small frame that is acknowledged.
    Probe,
}

/// A monitor's decisions.
pub(crate) trait Monitor: Debug + Send {
    /// A transmission ended.
    fn outcome(&self, now: Instant, channel: &mut Channel, outcome: Outcome);

    /// The time has come to look at the channel again.
    fn due(&self, _now: Instant, _channel: &mut Channel) -> Look {
        Look::Only
    }

    /// A receiver told something.
    fn hint(&self, _now: Instant, _channel: &mut Channel, _hint: Hint) {}

    /// The channel told its state.
    fn told(&self, _now: Instant, _channel: &mut Channel, _is_good: bool) {}
}

/// The monitor of that name.
pub(crate) fn of(chosen: config::Monitor) -> Box<dyn Monitor> {
    match chosen {
        config::Monitor::Perfect => Box::new(perfect::Perfect),
        config::Monitor::Acknowledgements(bursts) => {
            Box::new(acknowledgements::Acknowledgements(bursts))
        }
        config::Monitor::Probing(probing) => Box::new(probing::Prober(probing)),
    }
}
