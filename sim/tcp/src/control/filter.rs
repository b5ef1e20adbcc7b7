//! Measurements of BBR: the largest recent rate, and the aggregation of acknowledgements.

use units::{Duration, Instant};

/// A maximum over a window of rounds, from three candidates (Kathleen Nichols' filter, as in Linux).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WindowedMax {
    /// Rounds and values, in descending order of value.
    best: [(u64, u64); 3],
}

impl WindowedMax {
    pub(super) fn get(&self) -> u64 {
        self.best[0].1
    }

    /// Adds a value of round `at`, and drops values older than `window` rounds.
    pub(super) fn update(&mut self, window: u64, at: u64, value: u64) {
        let new = (at, value);
        if value >= self.best[0].1 || at.saturating_sub(self.best[2].0) > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let age = |best: (u64, u64)| at.saturating_sub(best.0);
        if age(self.best[0]) > window {
            self.best = [self.best[1], self.best[2], new];
            if age(self.best[0]) > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == self.best[0].0 && age(self.best[1]) > window / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].0 == self.best[1].0 && age(self.best[2]) > window / 2 {
            self.best[2] = new;
        }
    }
}

/// Length of each half of the aggregation window, in rounds.
const ROUNDS: u32 = 5;
/// Longest time that an aggregate is taken for.
const BUNCH_MAX: Duration = Duration::from_millis(100);
/// Number of bytes after which the measurement restarts.
const EPOCH_MAX: u64 = 1 << 30;

/// Number of bytes acknowledged at once beyond the expected rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aggregation {
    start: Instant,
    arrived: u64,
    most: [u64; 2],
    half: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::ZERO,
            arrived: 0,
            most: [0; 2],
            half: 0,
            rounds: 0,
        }
    }

    /// Restarts the measurement when data are sent after a pause.
    pub(super) fn begin(&mut self, now: Instant) {
        self.start = now;
        self.arrived = 0;
    }

    /// Adds `arrived` delivered bytes at `rate` bytes per second; the excess is limited by the window.
    pub(super) fn update(
        &mut self,
        now: Instant,
        arrived: u64,
        rate: u64,
        window: u64,
        round_starts: bool,
    ) {
        if round_starts {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.half = 1 - self.half;
                self.most[self.half] = 0;
            }
        }
        let mut expected = bytes_in(rate, now.since(self.start));
        if self.arrived <= expected || self.arrived + arrived >= EPOCH_MAX {
            self.begin(now);
            expected = 0;
        }
        self.arrived += arrived;
        let extra = self.arrived.saturating_sub(expected).min(window);
        self.most[self.half] = self.most[self.half].max(extra);
    }

    /// Returns the allowance in the window, in bytes.
    pub(super) fn allowance(&self, rate: u64) -> u64 {
        let most = self.most[0].max(self.most[1]);
        most.min(bytes_in(rate, BUNCH_MAX))
    }
}

/// Returns the bytes that `rate`, in bytes per second, carries in `span`.
pub(super) fn bytes_in(rate: u64, span: Duration) -> u64 {
    let bytes = u128::from(rate) * u128::from(span.as_nanos()) / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Returns the rate in bytes per second of `bytes` in `span`.
pub(super) fn rate_of(bytes: u64, span: Duration) -> u64 {
    let rate = u128::from(bytes) * 1_000_000_000 / u128::from(span.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::WindowedMax;

    #[test]
    fn the_maximum_is_that_of_the_window() {
        let mut filter = WindowedMax::default();
        for (round, value) in [(0, 5), (1, 9), (2, 3), (5, 4), (10, 2)] {
            filter.update(10, round, value);
        }
        assert_eq!(filter.get(), 9);
        filter.update(10, 12, 1);
        assert!((3..=4).contains(&filter.get()), "{}", filter.get());
        filter.update(10, 30, 1);
        assert_eq!(filter.get(), 1);
    }
}
