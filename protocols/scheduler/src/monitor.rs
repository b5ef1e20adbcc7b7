//! The detection of bad channels (the paper's link status monitor): one monitor a file.

mod acknowledgements;
mod burst;
mod perfect;
mod probing;

use std::fmt::Debug;

use units::{Duration, Instant};

use self::burst::BurstLength;
use crate::{Hint, Outcome, config};

/// State of one destination's channel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Channel {
    /// True if the channel is presumed bad.
    pub(crate) is_marked: bool,
    /// Time at which the monitor checks it again.
    pub(crate) due: Option<Instant>,
    /// Estimated length of its bursts.
    pub(crate) bursts: BurstLength,
    /// Number of missing acknowledgements in a row.
    missing: u32,
    burst: Option<Burst>,
}

/// Burst of losses that has not ended, as far as is known.
#[derive(Debug, Clone, Copy)]
struct Burst {
    /// Time of the first missing acknowledgement.
    since: Instant,
    /// Time of the latest missing acknowledgement.
    latest: Instant,
    /// Time until the next check of the channel.
    wait: Option<Duration>,
}

impl Channel {
    /// Notes a missing acknowledgement. Returns the burst if there is one by now: after `missing` in a row, or at
    /// once if it is `certain`.
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

    /// Handles a receiver's report. Returns true if the signal has fallen.
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

    /// Discounts `frames` missing acknowledgements that show no fade.
    fn excuse(&mut self, frames: u32) {
        let was_missing = self.missing > 0;
        self.missing = self.missing.saturating_sub(frames);
        if was_missing && self.missing == 0 {
            self.burst = None;
            self.is_marked = false;
            self.due = None;
        }
    }

    /// Notes an acknowledgement, so that any burst has ended: after the last missing acknowledgement, and presumably
    /// halfway between the two.
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

/// Action of a monitor after a check of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// No action; the state of the channel may have changed.
    Only,
    /// Send a probe: a small frame that is acknowledged.
    Probe,
}

/// Decisions of a monitor.
pub(crate) trait Monitor: Debug + Send {
    /// Handles the result of a transmission.
    fn outcome(&self, now: Instant, channel: &mut Channel, outcome: Outcome);

    /// Checks the channel at its due time.
    fn due(&self, _now: Instant, _channel: &mut Channel) -> Look {
        Look::Only
    }

    /// Handles a receiver's report.
    fn hint(&self, _now: Instant, _channel: &mut Channel, _hint: Hint) {}

    /// Handles a report by the channel itself.
    fn told(&self, _now: Instant, _channel: &mut Channel, _is_good: bool) {}
}

/// Returns the chosen monitor.
pub(crate) fn of(chosen: config::Monitor) -> Box<dyn Monitor> {
    match chosen {
        config::Monitor::Perfect => Box::new(perfect::Perfect),
        config::Monitor::Acknowledgements(bursts) => {
            Box::new(acknowledgements::Acknowledgements(bursts))
        }
        config::Monitor::Probing(probing) => Box::new(probing::Prober(probing)),
    }
}
