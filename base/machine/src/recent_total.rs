//! The amount of something in the last seconds.

use units::{BitRate, Bytes, Duration, Instant};

/// Number of parts into which the time is divided.
const PARTS: u64 = 12;

/// Amount of something that was counted in the recent past, such as bytes.
///
/// It costs a few operations for each addition, and nothing while nothing is added: no timer has to end it.
#[derive(Debug, Clone)]
pub struct RecentTotal {
    /// Length of one part.
    part: Duration,
    /// Amounts of the newest parts; part number n is at index n mod [`PARTS`].
    amounts: [u64; PARTS as usize],
    /// Number of the newest part to which something was added.
    newest: u64,
}

impl RecentTotal {
    /// Returns a total over the last `span`, which must not be zero: over this time at most, and over a twelfth less
    /// at least.
    pub fn over(span: Duration) -> Self {
        Self {
            part: (span / PARTS).max(Duration::from_nanos(1)),
            amounts: [0; PARTS as usize],
            newest: 0,
        }
    }

    /// Adds an amount.
    pub fn add(&mut self, now: Instant, amount: u64) {
        let number = self.number(now);
        let first_new = self.newest + 1;
        for passed in first_new..=number.min(self.newest + PARTS) {
            self.amounts[(passed % PARTS) as usize] = 0;
        }
        self.newest = self.newest.max(number);
        let here = &mut self.amounts[(self.newest % PARTS) as usize];
        *here = here.saturating_add(amount);
    }

    /// Returns the amount of the last [`span`](Self::span).
    pub fn total(&self, now: Instant) -> u64 {
        // All parts that are known, without those that are too old by now.
        let oldest = self.number(now).saturating_sub(PARTS - 1);
        let known = (self.newest + 1).saturating_sub(PARTS)..=self.newest;
        known
            .filter(|number| *number >= oldest)
            .map(|number| self.amounts[(number % PARTS) as usize])
            .fold(0, u64::saturating_add)
    }

    /// Returns the time that [`total`](Self::total) covers: whole parts, and the current one as far as it has passed.
    pub fn span(&self, now: Instant) -> Duration {
        let passed = now.as_nanos() % self.part.as_nanos();
        self.part * (PARTS - 1) + Duration::from_nanos(passed)
    }

    /// Returns the rate, if the amount is one of bytes. Before a whole span has passed since the start, it is too low.
    pub fn rate(&self, now: Instant) -> BitRate {
        let amount = Bytes::new(self.total(now));
        BitRate::of(amount, self.span(now)).unwrap_or_default()
    }

    /// Returns the number of the part in which `now` lies.
    fn number(&self, now: Instant) -> u64 {
        now.as_nanos() / self.part.as_nanos()
    }
}
