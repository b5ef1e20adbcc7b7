//! When the air is free.

use units::{BitRate, Bytes, Duration, Instant};

/// What one grant covers: short enough for choices to be fresh, long enough for batches.
const SLOT: Duration = Duration::from_millis(2);
/// A driver that wakes up late may make up for so much.
const CATCH_UP: Duration = Duration::from_millis(4);

/// Counts transmissions against a rate.
#[derive(Debug, Default)]
pub struct Pacer {
    free_at: Instant,
}

impl Pacer {
    /// When the air is free next.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// How many bytes may go on the air now, at `rate`; `None` while it is busy.
    pub fn grant(&self, now: Instant, rate: BitRate) -> Option<Bytes> {
        let late = now.since(self.free_at).as_nanos().min(CATCH_UP.as_nanos());
        let span = SLOT + Duration::from_nanos(late);
        (now >= self.free_at).then(|| rate.bytes_in(span).max(Bytes::new(1)))
    }

    /// Bytes have gone on the air, at `rate`.
    pub fn spent(&mut self, now: Instant, bytes: Bytes, rate: BitRate) {
        self.free_at = self.free_at.max(now - CATCH_UP) + rate.time_for(bytes);
    }
}
