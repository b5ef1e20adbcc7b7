//! Times of arrival, from the time stamps of the kernel.

use units::{Duration, Instant};

use crate::clock;

/// A time stamp that claims to be older than this comes from a step of the wall clock.
const OLDEST_STAMP: Duration = Duration::from_secs(10);

/// Puts time stamps, which are of the wall clock, on the monotonic scale.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    last_arrival: Instant,
    /// What the wall clock is ahead of the monotonic one.
    wall_ahead: Duration,
}

impl Stamps {
    /// Finds out how far the clocks are apart now; to be called with each batch.
    pub(crate) fn compare_clocks(&mut self) {
        self.wall_ahead = clock::wall_ahead().unwrap_or(self.wall_ahead);
    }

    /// When a datagram with this stamp arrived: not after `now`, and not before the one before it.
    pub(crate) fn arrival(&mut self, now: Instant, stamp: Option<Duration>) -> Instant {
        let on_scale = stamp.map_or(now, |stamp| {
            Instant::ZERO + stamp.saturating_sub(self.wall_ahead)
        });
        let believable = now.since(on_scale) <= OLDEST_STAMP;
        let at = if believable { on_scale.min(now) } else { now };
        self.last_arrival = at.max(self.last_arrival);
        self.last_arrival
    }
}
