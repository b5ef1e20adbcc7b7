//! A bound on how often something may happen, such as work that strangers can cause.

use units::{Duration, Instant};

/// A token bucket in integer time: a token is the span in which one is earned.
#[derive(Debug)]
pub struct TokenBucket {
    /// Time that earns one token.
    interval: Duration,
    capacity: Duration,
    credit: Duration,
    updated: Instant,
}

impl TokenBucket {
    /// A full bucket that earns `rate` tokens a second and holds `burst`; a rate of 0 earns none.
    pub fn new(rate: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(1)
            .as_nanos()
            .checked_div(u64::from(rate))
            .map_or(Duration::MAX, Duration::from_nanos);
        let capacity = interval * u64::from(burst);
        Self {
            interval,
            capacity,
            credit: capacity,
            updated: Instant::ZERO,
        }
    }

    /// Takes one token, if there is one.
    pub fn take(&mut self, now: Instant) -> bool {
        self.credit = (self.credit + now.since(self.updated)).min(self.capacity);
        self.updated = now;
        let enough = self.credit >= self.interval;
        if enough {
            self.credit -= self.interval;
        }
        enough
    }
}
