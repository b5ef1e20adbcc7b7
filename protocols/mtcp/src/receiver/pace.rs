//! When packets came and went.

use units::{Duration, Instant};

/// Where acknowledgements are spaced, one part in so many of the window is acknowledged at once in any case, so that a
/// window that is hardly larger than the hop needs does not close.
const WINDOW_PARTS: u64 = 32;

/// How many bytes are acknowledged at once where acknowledgements are spaced, for such a window and segment in bytes.
pub(crate) fn told_at_once(window: u64, segment: u64) -> u64 {
    (2 * segment).max(window / WINDOW_PARTS)
}

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
