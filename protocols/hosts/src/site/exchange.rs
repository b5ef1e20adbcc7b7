//! What a gateway and the home of a mobile host know of each other while that moves: the packets between them, and how
//! long each waits for the other one.

use units::{Duration, Instant};

use super::message::Yielded;

/// Round trip between two gateways that have not measured it.
const UNKNOWN_TRIP: Duration = Duration::from_millis(250);

/// Segments of a mobile host between its home and another gateway, as one of the two has sent or received them since
/// their association began. A packet that stands for several segments may arrive in parts, and an acknowledgement may
/// take the place of another one, so that only segments with data are counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Exchange {
    /// Those to it, from its home.
    pub(crate) sent: u64,
    /// Those from it, to its home.
    pub(crate) carried: u64,
    /// Those to it that went back to its home.
    pub(crate) returned: u64,
}

impl Exchange {
    /// Returns true if all that the other gateway has sent has come.
    pub(crate) fn has(&self, all: Yielded) -> bool {
        self.carried >= all.carried && self.returned >= all.returned
    }

    /// Counts all that the other gateway has sent as if it had come: it is waited for no more.
    pub(crate) fn catch_up(&mut self, all: Yielded) {
        self.carried = self.carried.max(all.carried);
        self.returned = self.returned.max(all.returned);
    }
}

/// Limits on the time for which one gateway waits for another one.
pub(crate) struct Patience {
    pub(crate) least: Duration,
    pub(crate) most: Duration,
    /// Number of round trips, between these limits: a lost packet takes some to repair.
    pub(crate) trips: u64,
}

impl Patience {
    /// Returns the end of the time that begins at `since`, for a gateway at this round trip. The other gateway can make
    /// that as long as it likes.
    pub(crate) fn ends(&self, since: Instant, round_trip: Option<Duration>) -> Instant {
        let trips = round_trip.unwrap_or(UNKNOWN_TRIP) * self.trips;
        since + trips.clamp(self.least, self.most)
    }
}
