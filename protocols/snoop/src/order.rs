//! The order of the segments that cross the hop.

use machine::ReorderingWindow;
use units::{Duration, Instant};

use crate::Config;

/// Part of the shortest round trip within which nothing that was sent again can have arrived.
const TOO_SOON: u64 = 2;

/// The reordering window of one direction of a connection, and the shortest round trip, which shows whether an arrival
/// was that of a repair.
#[derive(Debug, Default)]
pub(crate) struct Order {
    window: ReorderingWindow,
    shortest: Option<Duration>,
}

/// Arrival of a segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// Time since it was first known to be overtaken; none if it was not.
    pub(crate) overtaken: Option<Duration>,
    /// Time since it was last sent, or requested.
    pub(crate) sent: Duration,
    /// True if it was sent again, or requested.
    pub(crate) repeated: bool,
}

impl Order {
    /// Returns the time for which an overtaken segment may still arrive, on a hop of this round trip; zero if the agent
    /// expects none to.
    pub(crate) fn window(&self, config: &Config, round_trip: Duration) -> Duration {
        if config.expects_reordering {
            self.window.get(round_trip)
        } else {
            Duration::ZERO
        }
    }

    /// Records a round trip of the hop that no repair and no overtaking has changed.
    pub(crate) fn answered(&mut self, round_trip: Duration) {
        let shortest = self.shortest.unwrap_or(round_trip);
        self.shortest = Some(shortest.min(round_trip));
    }

    /// Records an arrival. Returns true if it was repeated needlessly: it came too soon to be that of the repair.
    pub(crate) fn arrived(&mut self, now: Instant, arrival: Arrival) -> bool {
        let Arrival {
            overtaken,
            sent,
            repeated,
        } = arrival;
        if !repeated && overtaken.is_none() {
            self.answered(sent);
        }
        let soon = self
            .shortest
            .is_some_and(|shortest| sent < shortest / TOO_SOON);
        if let Some(late) = overtaken.filter(|_| !repeated || soon) {
            self.window.late(late);
        }
        let needless = repeated && soon;
        self.window.settled(now, 1, needless.into());
        needless
    }
}
