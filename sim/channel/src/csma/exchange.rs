//! One turn on the air: frames that answer each other, as far as they arrive.

use units::{Bytes, Duration, Instant};

use super::config::CsmaConfig;
use crate::errors::ErrorModel;
use crate::pacer::Airtime;

/// What came of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// When the last frame that was sent in it ended.
    pub(super) ends: Instant,
    /// Whether a frame of the sender's arrived damaged.
    pub(super) damaged: bool,
    /// When the data was received, if it was.
    pub(super) delivered: Option<Instant>,
    /// Whether the sender received its acknowledgement.
    pub(super) acknowledged: bool,
}

/// A turn in progress.
struct Legs<'a> {
    now: Instant,
    errors: &'a mut ErrorModel,
}

impl Legs<'_> {
    /// One frame; whether it arrives.
    fn send(&mut self, size: Bytes, lasts: Duration) -> bool {
        let start = self.now;
        self.now += lasts;
        let finish = self.now;
        !self.errors.loses(Airtime { start, finish }, size)
    }
}

/// A station's turn that begins at `start`, alone on the air.
pub(super) fn alone(
    config: &CsmaConfig,
    start: Instant,
    size: Bytes,
    errors: &mut ErrorModel,
) -> Turn {
    let mut legs = Legs { now: start, errors };
    let failed = |legs: &Legs<'_>, damaged| Turn {
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

/// A station's turn that begins at `start` while others begin too: what it sends first is lost.
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
