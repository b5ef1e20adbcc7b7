//! The stalls of a process: times in which this process, or that of the other end, gets no processor. What is missed
//! in a stall shows nothing about the hop.

use units::{Duration, Instant};

/// Delay of a call after its deadline that shows a time without processor: a driver rests for 1 ms.
const LATE: Duration = Duration::from_millis(2);
/// Time after a late call in which a driver can hand in frames that arrived meanwhile, before anything is judged.
const GRACE: Duration = Duration::from_millis(1);
/// Most time for which a process that is late again and again puts off its judgement; otherwise lost data would never
/// be retransmitted.
const GRACE_MOST: Duration = Duration::from_secs(1);

/// A delay of judgements after a stall: the process first reads the frames that arrived while it did not run.
#[derive(Debug, Default)]
pub struct StallGuard {
    /// Deadline that was missed, and time since which its judgement is put off.
    due: Instant,
    since: Instant,
    /// Time before which nothing is judged.
    until: Instant,
}

impl StallGuard {
    /// Returns the time when an event that is `due` then can be judged.
    pub fn after(&self, due: Instant) -> Instant {
        due.max(self.until)
    }

    /// Records that this process did not run for some time until now.
    pub fn stalled(&mut self, now: Instant) {
        self.until = now + GRACE;
    }

    /// Returns true if judging the event that was `due` must be put off, at the time [`after`](Self::after) it.
    pub fn is_needed(&mut self, now: Instant, due: Instant) -> bool {
        let late = now.since(self.after(due));
        let is_first = self.due != due;
        let is_needed = if is_first {
            // However short the delay, it may have been the end of a long time without processor.
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

/// Time for which a longest lateness is remembered, at most twice that: short at first, since ends that do not know
/// the rate of the hop yet may let acknowledgements wait, and twice as long each time.
const WINDOW_FIRST: Duration = Duration::from_secs(1);
const WINDOW_MOST: Duration = Duration::from_secs(10);
/// Limit on the lateness that is waited for, whatever the other end reports.
const LATENESS_MOST: Duration = Duration::from_secs(1);
/// Number of acknowledgements, and time, that show how promptly the other end acknowledges.
const ENOUGH: u32 = 16;
const LONG_ENOUGH: Duration = Duration::from_secs(1);

/// Lateness of the other end's acknowledgements, beyond the usual delay.
#[derive(Debug, Default)]
pub(crate) struct AckDelayEstimate {
    current: Duration,
    before: Duration,
    since: Instant,
    window: Duration,
    heard: u32,
    first_heard: Instant,
    /// Total lateness.
    pub(crate) total: Duration,
}

impl AckDelayEstimate {
    /// Records an acknowledgement that came `late` after it could have; `usual` of that is normal.
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

    /// Returns the lateness to expect: an end that was late once may be later the next time.
    pub(crate) fn expected(&self) -> Duration {
        (self.current.max(self.before) * 2).min(LATENESS_MOST)
    }

    /// Returns true if enough acknowledgements have shown how promptly it acknowledges.
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
        let mut grace = StallGuard::default();
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
        let mut grace = StallGuard::default();
        let judged = (1..100).find(|turn| !grace.is_needed(at(turn * 97), at(1)));
        assert_eq!(judged, Some(12), "after a second");
    }

    #[test]
    fn a_lateness_is_waited_for_as_long_as_it_is_remembered() {
        let mut lateness = AckDelayEstimate::default();
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
        let mut lateness = AckDelayEstimate::default();
        lateness.note(at(20), Duration::from_secs(1_000), USUAL);
        assert_eq!(lateness.expected(), LATENESS_MOST);
    }
}
