//! A limit on the rate of something, such as work that strangers can cause.

use units::{Duration, Instant};

/// Amount taken from a token bucket and not earned back yet, in a unit that its owner chooses.
///
/// The owner passes the earning rate and the capacity with each use, so both may change.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenDebt {
    taken: u64,
    updated: Instant,
}

impl TokenDebt {
    /// Returns the debt of a bucket with capacity `burst` that is empty at `now`.
    pub fn empty(now: Instant, burst: u64) -> Self {
        Self {
            taken: burst,
            updated: now,
        }
    }

    /// Takes `amount` from a bucket with capacity `burst`, if it holds that much; `earned` returns the amount earned in
    /// a span. A span that earns nothing yet is not lost: it counts towards the next use.
    pub fn take(
        &mut self,
        now: Instant,
        amount: u64,
        burst: u64,
        earned: impl FnOnce(Duration) -> u64,
    ) -> bool {
        let earned = earned(now.since(self.updated));
        if earned > 0 {
            self.taken = self.taken.saturating_sub(earned);
            self.updated = now;
        }
        let taken = self.taken.checked_add(amount);
        let taken = taken.filter(|taken| *taken <= burst);
        self.taken = taken.unwrap_or(self.taken);
        taken.is_some()
    }

    /// Returns the time from which a bucket with capacity `burst` holds `amount`, which may be past; `None` if it is
    /// too small for it. `time_for` returns the time in which an amount is earned, or `None` if it never is.
    pub fn holds_from(
        &self,
        amount: u64,
        burst: u64,
        time_for: impl FnOnce(u64) -> Option<Duration>,
    ) -> Option<Instant> {
        let missing = match self.taken.saturating_add(amount).saturating_sub(burst) {
            _ if amount > burst => return None,
            0 => Duration::ZERO,
            missing => time_for(missing)?,
        };
        Some(self.updated + missing)
    }
}

/// A token bucket in integer time: a token is the time in which one token is earned.
#[derive(Debug)]
pub struct TokenBucket {
    /// Time in which one token is earned.
    interval: Duration,
    capacity: Duration,
    debt: TokenDebt,
}

impl TokenBucket {
    /// Returns a full bucket with capacity `burst` that earns `rate` tokens a second; a rate of 0 earns none.
    pub fn new(rate: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(1)
            .as_nanos()
            .checked_div(u64::from(rate))
            .map_or(Duration::MAX, Duration::from_nanos);
        Self {
            interval,
            capacity: interval * u64::from(burst),
            debt: TokenDebt::default(),
        }
    }

    /// Takes one token; returns true if there was one.
    pub fn take(&mut self, now: Instant) -> bool {
        let (amount, burst) = (self.interval.as_nanos(), self.capacity.as_nanos());
        self.debt.take(now, amount, burst, Duration::as_nanos)
    }
}
