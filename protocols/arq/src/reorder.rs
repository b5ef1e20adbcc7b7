//! The reordering of the hop: a transmission that may only be late is not declared lost (RACK, RFC 8985 §6.2).
//!
//! A transmission is overtaken when a later one is acknowledged and it is not. On a hop that keeps order it is lost
//! then. When an overtaken one arrives after all, the hop reorders, and from then on each gets as much time as that
//! one took, and a little more.

use std::collections::VecDeque;

use machine::ReorderingWindow;
use planted::Bug;
use units::{Duration, Instant};

use crate::stall::StallGuard;

/// Most acknowledgements remembered: as many as come in the longest window, at 1 ms from each other.
const MARKS_MAX: usize = 512;
/// Most transmissions remembered that were declared lost.
const LOST_MAX: usize = 128;

/// An acknowledgement: the numbers between `above` and `below` that it does not cover are overtaken since `at`.
#[derive(Debug, Clone, Copy)]
struct Mark {
    above: u64,
    below: u64,
    at: Instant,
}

/// State of the hop's order.
#[derive(Debug, Default)]
pub(crate) struct Reordering {
    marks: VecDeque<Mark>,
    /// Number below which everything was overtaken long enough ago.
    passed: u64,
    /// Numbers declared lost, and the times when they were overtaken.
    lost: VecDeque<(u64, Instant)>,
    window: ReorderingWindow,
    pub(crate) grace: StallGuard,
}

impl Reordering {
    /// Returns the time for which an overtaken transmission may still arrive; zero on a hop that keeps order.
    pub(crate) fn window(&self, round_trip: Duration) -> Duration {
        if planted::is(Bug::OrderIsAssumed) {
            return Duration::ZERO;
        }
        self.window.get(round_trip)
    }

    /// Records an acknowledgement of numbers from `lowest` up to `largest`. Returns the number below which everything
    /// that it does not cover is lost, with this `window`.
    pub(crate) fn acknowledged(
        &mut self,
        now: Instant,
        lowest: u64,
        largest: u64,
        window: Duration,
    ) -> u64 {
        if self.marks.back().is_none_or(|mark| mark.below < largest) {
            let (above, below, at) = (lowest, largest, now);
            self.marks.push_back(Mark { above, below, at });
        }
        if self.marks.len() > MARKS_MAX
            && let Some(mark) = self.marks.pop_front()
        {
            self.passed = mark.below;
        }
        self.lost_before(now, window).min(largest)
    }

    /// Returns the number below which everything was overtaken `window` ago.
    pub(crate) fn lost_before(&self, now: Instant, window: Duration) -> u64 {
        let mut marks = self.marks.iter().rev();
        let passed = marks.find(|mark| mark.at + window <= now);
        passed.map_or(self.passed, |mark| mark.below)
    }

    /// Returns the time when the transmission with this number, the first without an outcome, will have been
    /// overtaken for `window`.
    pub(crate) fn deadline(&self, number: u64, window: Duration) -> Option<Instant> {
        self.overtook(number).map(|mark| mark.at + window)
    }

    fn overtook(&self, number: u64) -> Option<&Mark> {
        let place = self.marks.partition_point(|mark| mark.below <= number);
        self.marks.get(place)
    }

    /// Records that a transmission is declared lost.
    pub(crate) fn lost(&mut self, number: u64) {
        // Below the range of an acknowledgement, the loss shows nothing about the order.
        let mark = self.overtook(number).filter(|mark| number > mark.above);
        let Some(at) = mark.map(|mark| mark.at) else {
            return;
        };
        if self.lost.len() == LOST_MAX {
            self.lost.pop_front();
        }
        self.lost.push_back((number, at));
    }

    /// Records the arrival of a transmission that had no outcome.
    pub(crate) fn arrived(&mut self, now: Instant, number: u64) {
        let mark = self.overtook(number).filter(|mark| number > mark.above);
        if let Some(late) = mark.map(|mark| now.since(mark.at)) {
            self.window.late(late);
        }
    }

    /// Returns the number of those declared lost that are in `received` (`start..=end`, from the highest down): they
    /// were late, and their repairs needless.
    pub(crate) fn found(&mut self, now: Instant, received: &[(u64, u64)]) -> u64 {
        let is_in = |number: u64| {
            let place = received.partition_point(|(start, _)| *start > number);
            received.get(place).is_some_and(|(_, end)| number <= *end)
        };
        let (count, window) = (self.lost.len(), &mut self.window);
        self.lost.retain(|(number, at)| {
            let came = is_in(*number);
            if came {
                window.late(now.since(*at));
            }
            !came
        });
        (count - self.lost.len()) as u64
    }

    /// Records that some transmissions arrived, and how many were repaired `needless`ly. All before `first` have an
    /// outcome now.
    pub(crate) fn settled(&mut self, now: Instant, first: u64, arrived: u64, needless: u64) {
        self.window.settled(now, arrived, needless);
        while let Some(mark) = self.marks.pop_front_if(|mark| mark.below <= first) {
            self.passed = mark.below;
        }
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        self.marks.capacity() * size_of::<Mark>()
            + self.lost.capacity() * size_of::<(u64, Instant)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(40);

    fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    #[test]
    fn what_is_overtaken_is_lost_at_once_while_order_is_kept() {
        let mut order = Reordering::default();
        assert_eq!(order.window(ROUND_TRIP), Duration::ZERO);
        assert_eq!(order.acknowledged(at(10), 0, 7, Duration::ZERO), 7);
        assert_eq!(order.acknowledged(at(12), 0, 9, Duration::ZERO), 9);
        // An older acknowledgement that comes late says nothing beyond itself.
        assert_eq!(order.acknowledged(at(13), 0, 8, Duration::ZERO), 8);
    }

    #[test]
    fn what_came_late_once_is_waited_for() {
        let mut order = Reordering::default();
        order.acknowledged(at(10), 0, 7, Duration::ZERO);
        order.lost(5);
        assert_eq!(order.found(at(14), &[(6, 9), (0, 4)]), 0);
        assert_eq!(order.found(at(18), &[(0, 9)]), 1);
        let window = order.window(ROUND_TRIP);
        assert_eq!(window, Duration::from_millis(10));
        assert_eq!(order.acknowledged(at(20), 0, 12, window), 7);
        assert_eq!(order.deadline(9, window), Some(at(30)));
        assert_eq!(order.lost_before(at(30), window), 12);
    }

    #[test]
    fn what_an_acknowledgement_does_not_reach_says_nothing() {
        let mut order = Reordering::default();
        order.acknowledged(at(10), 6, 9, Duration::ZERO);
        order.lost(5);
        assert_eq!(order.found(at(18), &[(0, 9)]), 0);
        assert_eq!(order.window(ROUND_TRIP), Duration::ZERO);
    }
}
