//! One turn on the medium: a sequence of frames and replies, which ends early if one is lost.

use units::{Bytes, Duration, Instant};

use super::config::CsmaConfig;
use crate::airtime::Airtime;
use crate::errors::ErrorModel;

/// Result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// Time at which the last frame sent in it ended.
    pub(super) ends: Instant,
    /// True if a frame of the sender arrived damaged.
    pub(super) damaged: bool,
    /// Time at which the data was received, if it was.
    pub(super) delivered: Option<Instant>,
    /// True if the sender received its acknowledgement.
    pub(super) acknowledged: bool,
}

/// A turn in progress.
struct ExchangeInProgress<'a> {
    now: Instant,
    errors: &'a mut ErrorModel,
}

impl ExchangeInProgress<'_> {
    /// Sends one frame; returns true if it arrives.
    fn send(&mut self, size: Bytes, lasts: Duration) -> bool {
        let start = self.now;
        self.now += lasts;
        let finish = self.now;
        !self.errors.loses(Airtime { start, finish }, size)
    }
}

/// Returns the result of a station's turn that begins at `start`, alone on the medium.
pub(super) fn alone(
    config: &CsmaConfig,
    start: Instant,
    size: Bytes,
    errors: &mut ErrorModel,
) -> Turn {
    let mut legs = ExchangeInProgress { now: start, errors };
    let failed = |legs: &ExchangeInProgress<'_>, damaged| Turn {
        ends: legs.now,
        damaged,
        delivered: None,
        acknowledged: false,
    };
    if config.reserves(size) {
        if !legs.send(super::config::RESERVATION, config.reservation()) {
            return failed(&legs, true);
        }
        legs.now += config.gap;
        if !legs.send(super::config::ACKNOWLEDGEMENT, config.answer()) {
            return failed(&legs, false);
        }
        legs.now += config.gap;
    }
    if !legs.send(size, config.data(size)) {
        return failed(&legs, true);
    }
    let delivered = Some(legs.now);
    legs.now += config.gap;
    let acknowledged = legs.send(super::config::ACKNOWLEDGEMENT, config.answer());
    Turn {
        delivered,
        acknowledged,
        ..failed(&legs, false)
    }
}

/// Returns the result of a station's turn that begins at `start` while others begin too: its first frame is lost.
pub(super) fn together(config: &CsmaConfig, start: Instant, size: Bytes) -> Turn {
    let lasts = if config.reserves(size) {
        config.reservation()
    } else {
        config.data(size)
    };
    Turn {
        ends: start + lasts,
        damaged: false,
        delivered: None,
        acknowledged: false,
    }
}
