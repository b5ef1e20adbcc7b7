//! Processes that get no processor: this one, and that of the other end. What they miss is no news of the hop.

use units::{Duration, Instant};

/// A call that comes so much later than its deadline comes after a time without processor: a driver rests for 1 ms.
const LATE: Duration = Duration::from_millis(2);
/// For so long after a late call a driver can hand in what has come meanwhile, before anything is judged.
const GRACE: Duration = Duration::from_millis(1);
/// A process that is late again and again must judge at last, or what is lost would never be sent again.
const GRACE_MOST: Duration = Duration::from_secs(1);

/// Whether this process may judge now that nothing has come, or has to read first what came while it did not run.
#[derive(Debug, Default)]
pub struct Grace {
    /// Which deadline it was late for, and since when judging it is put off.
    due: Instant,
    since: Instant,
    /// Nothing is judged before.
    until: Instant,
}

impl Grace {
    /// When what is `due` then can be judged.
    pub fn after(&self, due: Instant) -> Instant {
        due.max(self.until)
    }

    /// This process did not run for some time until now.
    pub fn stalled(&mut self, now: Instant) {
        self.until = now + GRACE;
    }

    /// Whether to put off judging what was `due`, now that the time [`after`](Self::after) it has come.
    pub fn is_needed(&mut self, now: Instant, due: Instant) -> bool {
        let late = now.since(self.after(due));
        let is_first = self.due != due;
        let is_needed = if is_first {
            // However short, it may have been the end of a long time without processor.
            late > Duration::ZERO
        } else {
            late > LATE && now.since(self.since) < GRACE_MOST
        };
        if is_first {
            (self.due, self.since) = (due, now);
        }
        if is_needed {
            self.stalled(now);
        }
        is_needed
    }
}

/// How long a longest lateness is remembered, at most twice: not for long at first, where ends that do not know the
/// rate of the hop yet may let acknowledgements wait, and twice as long each time.
const WINDOW_FIRST: Duration = Duration::from_secs(1);
const WINDOW_MOST: Duration = Duration::from_secs(10);
/// The other end may say that it was as late as it likes: more than this is not waited for.
const LATENESS_MOST: Duration = Duration::from_secs(1);
/// So many acknowledgements in so long show how prompt the other end is.
const ENOUGH: u32 = 16;
const LONG_ENOUGH: Duration = Duration::from_secs(1);

/// How late the other end acknowledges what has reached it, beyond what it may be.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    current: Duration,
    before: Duration,
    since: Instant,
    window: Duration,
    heard: u32,
    first_heard: Instant,
    /// For how long in all.
    pub(crate) total: Duration,
}

impl Lateness {
    /// An acknowledgement came `late` after it could have; `usual` of that is as it should be.
    pub(crate) fn note(&mut self, now: Instant, late: Duration, usual: Duration) {
        if self.heard == 0 {
            (self.first_heard, self.since) = (now, now);
            self.window = WINDOW_FIRST;
        }
        self.heard = self.heard.saturating_add(1);
        if now.since(self.since) > self.window {
            self.before = std::mem::take(&mut self.current);
            self.since = now;
            self.window = (self.window * 2).min(WINDOW_MOST);
        }
        if late > usual + LATE {
            self.current = self.current.max(late.min(LATENESS_MOST));
            self.total += late - usual;
        }
    }

    /// How late it may be again: who was late once may be later the next time.
    pub(crate) fn expected(&self) -> Duration {
        (self.current.max(self.before) * 2).min(LATENESS_MOST)
    }

    /// Whether enough acknowledgements have shown how prompt it is.
    pub(crate) fn is_known(&self, now: Instant) -> bool {
        self.heard >= ENOUGH && now.since(self.first_heard) >= LONG_ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_millis(25);

    fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    #[test]
    fn who_is_late_reads_first_and_judges_then() {
        let mut grace = Grace::default();
        assert!(!grace.is_needed(at(100), at(100)), "in time");
        assert!(grace.is_needed(at(297), at(200)));
        assert_eq!(grace.after(at(200)), at(298));
        assert!(!grace.is_needed(at(299), at(200)), "it has read");
        grace.stalled(at(400));
        assert_eq!(grace.after(at(399)), at(401));
        assert!(!grace.is_needed(at(401), at(399)));
    }

    #[test]
    fn who_is_always_late_judges_at_last() {
        let mut grace = Grace::default();
        let judged = (1..100).find(|turn| !grace.is_needed(at(turn * 97), at(1)));
        assert_eq!(judged, Some(12), "after a second");
    }

    #[test]
    fn a_lateness_is_waited_for_as_long_as_it_is_remembered() {
        let mut lateness = Lateness::default();
        lateness.note(at(10), USUAL, USUAL);
        assert_eq!(lateness.expected(), Duration::ZERO);
        lateness.note(at(20), Duration::from_millis(97), USUAL);
        assert_eq!(lateness.expected(), Duration::from_millis(194));
        assert_eq!(lateness.total, Duration::from_millis(72));
        // A second, twice that, and so on.
        for (milliseconds, expected) in [(1_100, 194), (3_000, 194), (3_200, 0)] {
            lateness.note(at(milliseconds), USUAL, USUAL);
            assert_eq!(lateness.expected(), Duration::from_millis(expected));
        }
        lateness.note(at(100_000), Duration::from_millis(97), USUAL);
        lateness.note(at(109_000), USUAL, USUAL);
        lateness.note(at(118_000), USUAL, USUAL);
        assert_eq!(lateness.expected(), Duration::from_millis(194));
        lateness.note(at(129_000), USUAL, USUAL);
        assert_eq!(lateness.expected(), Duration::ZERO);
    }

    #[test]
    fn no_lateness_is_waited_for_without_bound() {
        let mut lateness = Lateness::default();
        lateness.note(at(20), Duration::from_secs(1_000), USUAL);
        assert_eq!(lateness.expected(), LATENESS_MOST);
    }
}
