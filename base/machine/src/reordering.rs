//! The time for which data that were overtaken may still arrive.

use units::{Duration, Instant};

/// Time for which the longest wait is remembered, at most twice that.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Least value of the limit on the window, which otherwise is a round trip: an end that reports arrivals late must
/// not delay repairs without bound.
const LIMIT_LEAST: Duration = Duration::from_millis(4);
/// Most time that is waited for, even where needless repairs are many.
const LIMIT_MOST: Duration = Duration::from_millis(500);
/// Number of transmissions over which needless repairs are counted.
const COUNTED: u64 = 512;
/// Divisor of the transmissions: a round trip limits the window unless a larger part is repaired needlessly.
const TOLERATED: u64 = 32;

/// The reordering window of one direction (RACK, RFC 8985 §6.2): what was overtaken is lost after this time.
///
/// It is zero until something overtaken arrives after all, so that losses are repaired at once where order is kept.
/// Then it is 5/4 of the longest time that such an arrival took, for 10 to 20 s. A round trip limits it, as a repair
/// would be there by then; where that makes more than a 32nd of the transmissions needless repairs, 500 ms do.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReorderingWindow {
    current: Duration,
    before: Duration,
    since: Instant,
    transmissions: u64,
    needless: u64,
    /// Time until which needless repairs lift the limit.
    lifted_until: Option<Instant>,
}

impl ReorderingWindow {
    /// Returns the time for which something overtaken may still arrive, on a path of this round trip.
    pub fn get(&self, round_trip: Duration) -> Duration {
        let longest = self.current.max(self.before);
        let limit = match self.lifted_until {
            Some(_) => LIMIT_MOST,
            None => round_trip.max(LIMIT_LEAST),
        };
        (longest + longest / 4).min(limit)
    }

    /// Records something that arrived this long after it was overtaken.
    pub fn late(&mut self, late: Duration) {
        self.current = self.current.max(late);
    }

    /// Records the outcome of some transmissions, and how many of them were repaired `needless`ly.
    pub fn settled(&mut self, now: Instant, transmissions: u64, needless: u64) {
        if now.since(self.since) > REMEMBERED {
            self.before = std::mem::take(&mut self.current);
            self.since = now;
        }
        self.lifted_until = self.lifted_until.filter(|until| now < *until);
        self.transmissions += transmissions;
        self.needless += needless;
        if self.transmissions >= 2 * COUNTED {
            (self.transmissions, self.needless) = (self.transmissions / 2, self.needless / 2);
        }
        if self.needless * TOLERATED > self.transmissions.max(COUNTED) {
            self.needless = 0;
            self.lifted_until = Some(now + REMEMBERED);
        }
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
    fn what_came_late_once_is_waited_for_until_that_is_forgotten() {
        let mut window = ReorderingWindow::default();
        assert_eq!(window.get(ROUND_TRIP), Duration::ZERO);
        window.settled(at(10), 1, 0);
        window.late(Duration::from_millis(8));
        window.late(Duration::from_millis(2));
        assert_eq!(window.get(ROUND_TRIP), Duration::from_millis(10));
        window.settled(at(10_011), 1, 0);
        assert_eq!(window.get(ROUND_TRIP), Duration::from_millis(10));
        window.settled(at(20_012), 1, 0);
        assert_eq!(window.get(ROUND_TRIP), Duration::ZERO);
    }

    #[test]
    fn nothing_is_waited_for_longer_than_a_round_trip_unless_repairs_are_needless() {
        let mut window = ReorderingWindow::default();
        window.late(Duration::from_secs(9));
        assert_eq!(window.get(ROUND_TRIP), ROUND_TRIP);
        assert_eq!(window.get(Duration::ZERO), LIMIT_LEAST);
        // Two of a hundred cost less than they would delay.
        for round in 0..200 {
            window.settled(at(round), 100, 2);
        }
        assert_eq!(window.get(ROUND_TRIP), ROUND_TRIP);
        for round in 200..220 {
            window.settled(at(round), 100, 10);
        }
        assert_eq!(window.get(ROUND_TRIP), LIMIT_MOST);
        window.settled(at(11_000), 100, 0);
        assert_eq!(window.get(ROUND_TRIP), ROUND_TRIP);
    }
}
