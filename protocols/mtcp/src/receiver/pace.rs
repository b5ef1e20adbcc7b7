//! When packets came and went.

use units::{Duration, Instant};

/// How fast packets with data come, and when they were last acknowledged.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    last: Instant,
    /// Between the last two of which none between them was lost.
    pub(super) gap: Duration,
    /// When something last went out that acknowledges.
    pub(super) reported: Instant,
}

impl Pace {
    pub(super) fn note(&mut self, lost: bool, now: Instant) {
        if !lost {
            self.gap = now.since(self.last);
        }
        self.last = now;
    }
}
