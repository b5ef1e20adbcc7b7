//! The decision of a mobile host to lead new flows around a hop that is down, and across it again.
//!
//! It is not taken in a short fade: the air is bad for the way around too, and flows that begin there stay there,
//! without repairs. A gateway that has left, or whose host reports that no process listens, will not come back as a
//! fade ends, so the patience with it is shorter.

use units::{Duration, Instant};

/// Patience with a silent gateway, and with one that is known to be gone.
const SILENT: Duration = Duration::from_secs(15);
const GONE: Duration = Duration::from_secs(3);
/// On a slow hop, so many round trips count as silence, and so many as a sign that the hop works again.
const SILENT_TRIPS: u64 = 8;
const SETTLED_TRIPS: u64 = 2;
/// Time for which the hop must work before flows cross it again. It doubles each time that this did not last for
/// [`STEADY`], up to the second value, so that a hop that comes and goes does not turn the flows each time.
const SETTLED: Duration = Duration::from_secs(1);
const SETTLED_MOST: Duration = Duration::from_secs(64);
const STEADY: Duration = Duration::from_secs(300);

/// State of the hop at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HopSight {
    /// True if the gateway can be reached, as far as is known.
    pub(crate) is_up: bool,
    /// True if it is known that no gateway runs there.
    pub(crate) is_gone: bool,
    /// Round-trip time of the hop, if it was measured.
    pub(crate) round_trip: Option<Duration>,
}

/// A turn to the other way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Around the hop; it has been down for this time.
    Around(Duration),
    /// Across it again; flows have gone around it for this time.
    Across(Duration),
}

/// A period that ends with a turn, unless the hop changes before.
#[derive(Debug, Clone, Copy)]
struct Wait {
    since: Instant,
    until: Instant,
}

/// The way of new flows, and the state of its choice.
#[derive(Debug)]
pub(crate) struct Detour {
    /// Time when flows began to go around the hop, if they do.
    around_since: Option<Instant>,
    /// The present wait: while flows cross, the hop is down; while they go around, it works.
    wait: Option<Wait>,
    /// Time for which the hop must work.
    settled: Duration,
    /// Time of the last turn across.
    returned: Option<Instant>,
}

impl Detour {
    /// Returns the choice at the start: across.
    pub(crate) fn new() -> Self {
        Self {
            around_since: None,
            wait: None,
            settled: SETTLED,
            returned: None,
        }
    }

    /// Returns the time when flows began to go around the hop, if they do.
    pub(crate) fn around_since(&self) -> Option<Instant> {
        self.around_since
    }

    /// Returns the time of the next turn, if the hop stays as it is.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.wait.map(|wait| wait.until)
    }

    /// Takes note of the hop; returns the turn that follows.
    pub(crate) fn see(&mut self, now: Instant, hop: HopSight) -> Option<Turn> {
        if hop.is_up != self.around_since.is_some() {
            self.wait = None;
            return None;
        }
        let patience = self.patience(hop);
        let wait = self.wait.get_or_insert(Wait {
            since: now,
            until: now + patience,
        });
        if hop.is_gone {
            wait.until = wait.until.min(wait.since + patience);
        }
        let Wait { since, until } = *wait;
        if now < until {
            return None;
        }
        self.wait = None;
        Some(self.turn(now, now.since(since)))
    }

    /// Returns the length of a wait that begins now.
    fn patience(&self, hop: HopSight) -> Duration {
        let trips = |count: u64| hop.round_trip.unwrap_or_default() * count;
        match (hop.is_up, hop.is_gone) {
            (true, _) => self.settled.max(trips(SETTLED_TRIPS)),
            (false, true) => GONE.max(trips(SILENT_TRIPS)),
            (false, false) => SILENT.max(trips(SILENT_TRIPS)),
        }
    }

    fn turn(&mut self, now: Instant, down_for: Duration) -> Turn {
        if let Some(since) = self.around_since.take() {
            self.returned = Some(now);
            return Turn::Across(now.since(since));
        }
        self.around_since = Some(now);
        let was_steady = self.returned.is_none_or(|at| now.since(at) >= STEADY);
        self.settled = if was_steady {
            SETTLED
        } else {
            (self.settled * 2).min(SETTLED_MOST)
        };
        Turn::Around(down_for)
    }
}

#[cfg(test)]
#[path = "detour_tests.rs"]
mod tests;
