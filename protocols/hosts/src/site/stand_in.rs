//! A gateway that stands in for the home of its guests while that is silent: their new connections leave here.

use std::collections::BTreeMap;

use units::{Duration, Instant};

use super::{Watch, WatchStep};
use crate::GuestExits;

/// Time between two questions to a home that is silent.
const ASK_SILENT: Duration = Duration::from_secs(1);

/// The homes of this gateway's guests, as far as they are watched.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    /// Which flows of their mobile hosts leave here.
    pub(crate) exits: GuestExits,
    watches: BTreeMap<usize, HomeWatch>,
}

/// The watch on a home.
#[derive(Debug, Default)]
struct HomeWatch {
    watch: Watch,
    /// Time of the latest datagram to it, and from it.
    sent: Instant,
    heard: Instant,
    is_silent: bool,
    /// True if a guest is served here because of that.
    stands_in: bool,
    /// True if it has revoked this gateway.
    has_dismissed: bool,
}

impl HomeWatch {
    /// Returns the time from which its silence is remarkable, if something is expected of it.
    fn expected(&self) -> Option<Instant> {
        (self.sent >= self.heard).then(|| self.heard + Watch::QUIET)
    }
}

/// A step of the watch on a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HomeStep {
    /// It has sent something just now.
    Wait,
    /// It is asked for a sign of life.
    Ask,
    /// It is asked, and is taken for silent from now on.
    FallsSilent,
}

impl Homes {
    /// Returns true if this gateway stands in for them.
    pub(crate) fn stands_in(&self) -> bool {
        self.exits != GuestExits::None
    }

    /// Notes a datagram to a home, which should answer; returns the time of the next step, if there was none before.
    pub(crate) fn sent(&mut self, now: Instant, home: usize) -> Option<Instant> {
        if !self.stands_in() {
            return None;
        }
        let home = self.watches.entry(home).or_default();
        home.sent = now;
        if home.watch.due().is_some() {
            return None;
        }
        home.watch.rest(home.expected().map(|at| at.max(now)));
        home.watch.due()
    }

    /// Notes a sign of life of a home; returns true if a guest was served here because it had been silent.
    pub(crate) fn heard(&mut self, now: Instant, home: usize) -> bool {
        let Some(home) = self.watches.get_mut(&home) else {
            return false;
        };
        home.heard = now;
        if home.watch.is_asking() || home.is_silent {
            home.watch.answered();
        }
        (home.is_silent, home.has_dismissed) = (false, false);
        std::mem::take(&mut home.stands_in)
    }

    /// Notes that a home has revoked this gateway.
    pub(crate) fn dismissed(&mut self, home: usize) {
        if self.stands_in() {
            self.watches.entry(home).or_default().has_dismissed = true;
        }
    }

    /// Takes a home that has said goodbye for silent, unless it has revoked this gateway; returns true if it is.
    pub(crate) fn has_left(&mut self, home: usize) -> bool {
        if self.stands_in() {
            let home = self.watches.entry(home).or_default();
            home.is_silent |= !home.has_dismissed;
        }
        self.is_silent(home)
    }

    /// Notes that a guest is served here because its home is silent; returns true if it is the first one.
    pub(crate) fn stand_in(&mut self, home: usize) -> bool {
        let watch = self.watches.get_mut(&home);
        watch.is_some_and(|watch| !std::mem::replace(&mut watch.stands_in, true))
    }

    /// Ends the watch on a home that has no guest here.
    pub(crate) fn rest(&mut self, home: usize) {
        self.watches
            .retain(|known, watch| *known != home || watch.has_dismissed);
    }

    /// Forgets a home, which is no peer any more.
    pub(crate) fn forget(&mut self, home: usize) {
        self.watches.remove(&home);
    }

    /// Returns true if a home is silent.
    pub(crate) fn is_silent(&self, home: usize) -> bool {
        self.watches.get(&home).is_some_and(|home| home.is_silent)
    }

    /// Returns the step that is due for a home with this round trip, and the time of the next one.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        home: usize,
        round_trip: Duration,
    ) -> Option<(HomeStep, Option<Instant>)> {
        let home = self.watches.get_mut(&home)?;
        if !home.watch.is_asking() && home.expected().is_none_or(|at| at > now) {
            home.watch.rest(home.expected());
            return Some((HomeStep::Wait, home.watch.due()));
        }
        let is_over = home.watch.step(now, round_trip)? == WatchStep::Move;
        let falls_silent = is_over && !home.is_silent && !home.has_dismissed;
        home.is_silent |= falls_silent;
        if home.is_silent {
            home.watch.rest(Some(now + ASK_SILENT));
        }
        let step = if falls_silent {
            HomeStep::FallsSilent
        } else {
            HomeStep::Ask
        };
        Some((step, home.watch.due()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_answers_is_not_silent() {
        let mut homes = Homes {
            exits: GuestExits::OfSilentHome,
            ..Homes::default()
        };
        let at = Instant::from_millis;
        assert_eq!(homes.sent(at(5_000), 1), Some(at(5_000)));
        let ask = homes.step(at(5_000), 1, Duration::ZERO);
        assert_eq!(ask, Some((HomeStep::Ask, Some(at(5_250)))));
        homes.heard(at(5_100), 1);
        // Only what is sent after that is expected to be answered.
        assert_eq!(homes.sent(at(5_200), 1), Some(at(5_800)));
        homes.heard(at(5_300), 1);
        let wait = homes.step(at(5_800), 1, Duration::ZERO);
        assert_eq!(wait, Some((HomeStep::Wait, None)));
        assert_eq!(homes.sent(at(5_900), 1), Some(at(6_000)));
        let mut due = Some(at(6_000));
        while let Some(now) = due.filter(|_| !homes.is_silent(1)) {
            due = homes.step(now, 1, Duration::ZERO).and_then(|(_, due)| due);
        }
        assert_eq!(due, Some(at(7_000) + ASK_SILENT));
        assert!(homes.stand_in(1) && !homes.stand_in(1));
        assert!(homes.heard(at(9_000), 1));
        assert!(!homes.is_silent(1));
    }
}
