//! The drain of a gateway: mobile hosts are asked to have others serve them, a few at a time.

use units::{Duration, Instant};

/// Most mobile hosts that are asked at a time, and the pause until the next ones: each makes new keys elsewhere.
const AT_ONCE: usize = 50;
const PAUSE: Duration = Duration::from_millis(100);
/// Pause before those that are still here are asked again.
const ROUND: Duration = Duration::from_secs(2);
/// Time for which a mobile host avoids a gateway that it had to leave.
const AVOIDED: Duration = Duration::from_secs(60);

/// State of the drain of this gateway.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    /// Time of the next requests, while it is drained.
    due: Option<Instant>,
    /// Mobile hosts that are still to be asked in this round.
    left: Vec<usize>,
}

impl Drain {
    /// Begins at once.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.due = Some(now);
    }

    /// Asks nobody any more.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }

    /// Returns the time of the next requests.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns the mobile hosts to ask now, of those that are `served` when a round begins.
    pub(crate) fn asks(&mut self, now: Instant, served: impl FnOnce() -> Vec<usize>) -> Vec<usize> {
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        if self.left.is_empty() {
            self.left = served();
        }
        let stay = self.left.len().saturating_sub(AT_ONCE);
        let pause = if stay == 0 { ROUND } else { PAUSE };
        self.due = Some(now + pause);
        self.left.split_off(stay)
    }
}

/// Returns true if a mobile host avoids a gateway that it had to leave at this time.
pub(crate) fn is_avoided(left: Option<Instant>, now: Instant) -> bool {
    left.is_some_and(|left| now.since(left) < AVOIDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_asked_in_parts_and_those_who_stay_again() {
        let mut drain = Drain::default();
        let mut now = Instant::from_millis(5);
        assert_eq!(drain.asks(now, || unreachable!()), Vec::<usize>::new());
        drain.begin(now);
        let mut asked = Vec::new();
        while asked.len() < 120 {
            assert!(now < Instant::from_millis(400));
            now = drain.due().expect("it goes on");
            asked.extend(drain.asks(now, || (0..120).collect()));
        }
        asked.sort_unstable();
        assert_eq!(asked, (0..120).collect::<Vec<_>>());
        assert_eq!(drain.due(), Some(now + ROUND));
        now += ROUND;
        assert_eq!(drain.asks(now, || vec![7]), [7]);
        drain.end();
        assert_eq!(drain.due(), None);
    }
}
