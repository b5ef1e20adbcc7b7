//! The times at which the air is free.

use units::{BitRate, Bytes, Duration, Instant};

/// Time that one grant covers: short enough for fresh choices, long enough for batches.
const SLOT: Duration = Duration::from_millis(2);
/// Largest delay of a driver that it may make up for.
const CATCH_UP: Duration = Duration::from_millis(4);

/// Counts transmissions against a rate.
#[derive(Debug, Default)]
pub struct Pacer {
    free_at: Instant,
}

impl Pacer {
    /// Returns the next time at which the air is free.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Returns true if the air has been free for longer than a late driver can make up for.
    pub fn is_idle(&self, now: Instant) -> bool {
        now.since(self.free_at) > CATCH_UP
    }

    /// Returns the number of bytes that may be sent now, at `rate`; `None` while the air is busy.
    pub fn grant(&self, now: Instant, rate: BitRate) -> Option<Bytes> {
        let late = now.since(self.free_at).as_nanos().min(CATCH_UP.as_nanos());
        let span = SLOT + Duration::from_nanos(late);
        (now >= self.free_at).then(|| rate.bytes_in(span).max(Bytes::new(1)))
    }

    /// Records that `bytes` were sent at `rate`.
    pub fn spent(&mut self, now: Instant, bytes: Bytes, rate: BitRate) {
        self.free_at = self.free_at.max(now - CATCH_UP) + rate.time_for(bytes);
    }
}
