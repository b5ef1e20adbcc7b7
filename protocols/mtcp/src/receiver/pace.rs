//! The times of arrivals and acknowledgements.

use units::{Duration, Instant};

/// Divisor of the window: with spaced acknowledgements, this part of the window is acknowledged at once in any case,
/// so that a window hardly larger than the hop needs does not close.
const WINDOW_PARTS: u64 = 32;

/// Returns the bytes that are acknowledged at once with spaced acknowledgements, for this window and segment in
/// bytes.
pub(crate) fn told_at_once(window: u64, segment: u64) -> u64 {
    (2 * segment).max(window / WINDOW_PARTS)
}

/// Rate of packets with data, and time of the last acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    last: Instant,
    /// Time between the last two packets that arrived without a loss between them.
    pub(super) gap: Duration,
    /// Time of the last packet that carried an acknowledgement.
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
