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
    overdue: Overdue,
}

/// What the other gateway has sent and is waited for no more. A gateway that was stopped sends it a minute later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Overdue {
    /// Nothing.
    #[default]
    Nothing,
    /// All that it sends until it says how much that was.
    All,
    /// So many segments, which are counted already.
    Counted(Yielded),
}

/// Direction of a packet that has come from a gateway which serves its mobile host no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    Carried,
    Returned,
}

impl Exchange {
    /// Returns true if all that the other gateway has sent has come.
    pub(crate) fn has(&self, all: Yielded) -> bool {
        self.carried >= all.carried && self.returned >= all.returned
    }

    /// Waits no more for what the other gateway has sent, which is so much if it has said that.
    pub(crate) fn give_up(&mut self, all: Option<Yielded>) {
        match all {
            Some(all) => self.count_as_come(all),
            None => self.overdue = Overdue::All,
        }
    }

    /// Notes how much the other gateway has sent, which is waited for no more.
    pub(crate) fn ends_at(&mut self, all: Yielded) {
        if self.overdue == Overdue::All {
            self.count_as_come(all);
        }
    }

    fn count_as_come(&mut self, all: Yielded) {
        self.overdue = Overdue::Counted(Yielded {
            returned: all.returned.saturating_sub(self.returned),
            carried: all.carried.saturating_sub(self.carried),
        });
        self.carried = self.carried.max(all.carried);
        self.returned = self.returned.max(all.returned);
    }

    /// Begins to take everything from the other gateway: it serves the mobile host again.
    pub(crate) fn begins_again(&mut self) {
        self.overdue = Overdue::Nothing;
    }

    /// Counts so many segments that have come when the other gateway did not serve the mobile host any more; returns
    /// true if they were waited for no more.
    pub(crate) fn count_late(&mut self, direction: Late, segments: u64) -> bool {
        let missing = match &mut self.overdue {
            Overdue::Counted(missing) => Some(missing),
            Overdue::Nothing | Overdue::All => None,
        };
        let (count, missing) = match direction {
            Late::Carried => (&mut self.carried, missing.map(|all| &mut all.carried)),
            Late::Returned => (&mut self.returned, missing.map(|all| &mut all.returned)),
        };
        if let Some(missing) = missing.filter(|missing| **missing > 0) {
            *missing = missing.saturating_sub(segments);
            return true;
        }
        *count += segments;
        self.overdue == Overdue::All
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
