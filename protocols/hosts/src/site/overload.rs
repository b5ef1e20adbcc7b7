//! A gateway that has too little of the processor: it asks some of its mobile hosts to look for a better one.

use units::{Duration, Instant};

use super::Drain;

/// Pause until others are asked: the time in which those that were find out, and go.
const PAUSE: Duration = Duration::from_secs(20);
/// One of so many is asked at a time. All of them would take the load to another gateway, and come back with it.
const PARTS: usize = 4;

/// Time for which a gateway that was overloaded still is: its driver says so more often.
const LASTS: Duration = Duration::from_secs(10);

/// What a gateway asks of its mobile hosts.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// To all: to leave it.
    pub(crate) drain: Drain,
    /// To some: to look for a better one.
    pub(crate) overload: Overload,
}

/// State of a gateway that may have too little of the processor.
#[derive(Debug, Default)]
pub(crate) struct Overload {
    /// Time when it had too little, and of the latest requests.
    had: Option<Instant>,
    asked: Option<Instant>,
    /// Number of times that some were asked.
    rounds: usize,
}

impl Overload {
    /// Returns true if there is too little.
    pub(crate) fn is_present(&self, now: Instant) -> bool {
        self.had.is_some_and(|had| now.since(had) < LASTS)
    }

    /// Notes that there is too little; returns the mobile hosts to ask now, of those that are `served`.
    pub(crate) fn asks(&mut self, now: Instant, served: impl FnOnce() -> Vec<usize>) -> Vec<usize> {
        self.had = Some(now);
        if self.asked.is_some_and(|asked| now.since(asked) < PAUSE) {
            return Vec::new();
        }
        self.asked = Some(now);
        let served = served();
        let parts = PARTS.min(served.len()).max(1);
        let first = self.rounds % parts;
        self.rounds = self.rounds.wrapping_add(1);
        served.into_iter().skip(first).step_by(parts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quarter_of_a_crowd_is_asked_in_turn() {
        let mut overload = Overload::default();
        let mut now = Instant::from_millis(5);
        let mut asked = Vec::new();
        for _ in 0..4 {
            let some = overload.asks(now, || (0..10).collect());
            assert!((2..=3).contains(&some.len()), "{some:?}");
            asked.extend(some);
            assert!(overload.asks(now + PAUSE / 2, || unreachable!()).is_empty());
            now += PAUSE;
        }
        asked.sort_unstable();
        assert_eq!(asked, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn the_only_one_is_asked_each_time() {
        let mut overload = Overload::default();
        for round in 0..3 {
            let now = Instant::ZERO + PAUSE * round;
            assert_eq!(overload.asks(now, || vec![7]), [7]);
        }
        let now = Instant::ZERO + PAUSE * 3;
        assert!(overload.asks(now, Vec::new).is_empty());
    }
}
