//! Arrival times, from kernel time stamps.

use units::{Duration, Instant};

use crate::clock;

/// Largest plausible age of a time stamp; an older one comes from a step of the wall clock.
const OLDEST_STAMP: Duration = Duration::from_secs(10);

/// Conversion of time stamps from the wall clock to the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    last_arrival: Instant,
    /// Difference of the wall clock to the monotonic one.
    wall_ahead: Duration,
}

impl Stamps {
    /// Measures the difference of the clocks; call it with each batch.
    pub(crate) fn compare_clocks(&mut self) {
        self.wall_ahead = clock::wall_ahead().unwrap_or(self.wall_ahead);
    }

    /// Returns the arrival time of a datagram with this stamp: not after `now`, and not before the one before it.
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
