//! Moderation, which wakes the loop less often while datagrams keep coming.
//!
//! At 100 Mbit/s a frame arrives every 120 µs. A wake-up for each costs far more than the frame itself, so while reads
//! follow each other closely the loop rests for a moment, like the interrupt moderation of network interfaces, and then
//! reads the waiting frames. A quiet hop is not delayed at all.

use edges::bearer::Batch;
use units::{Duration, Instant};

/// Reads that follow each other within this time are moderated; also the longest rest.
const INTERVAL: Duration = Duration::from_micros(1_000);
/// Shortest rest that is worth its system call.
const LEAST: Duration = Duration::from_micros(100);
/// Number of rests after which the loop waits once, to handle signals and queries too.
const RESTS: u32 = 16;
/// Size of a batch that needs no moderation, in datagrams.
const BATCH: usize = 48;

/// State of moderation.
#[derive(Debug, Default)]
pub(crate) struct Moderation {
    last_read: Instant,
    /// Number of consecutive reads that followed the previous one closely.
    streak: u32,
    full: bool,
    /// Number of rests since the loop last waited for everything.
    rests: u32,
}

impl Moderation {
    /// Records a read of this `batch`.
    pub(crate) fn read(&mut self, now: Instant, batch: Batch) {
        let close = now.since(self.last_read) <= INTERVAL * 2;
        self.streak = if close {
            self.streak.saturating_add(1)
        } else {
            0
        };
        self.last_read = now;
        // A rest before everything is read would keep an existing queue, and limit the rate to one batch for each rest.
        self.full = batch.is_full || batch.datagrams >= BATCH;
    }

    /// Returns the time to rest instead of the next wait, given the next deadline.
    pub(crate) fn rest(&mut self, now: Instant, deadline: Option<Instant>) -> Option<Duration> {
        let until = machine::earlier(Some(self.last_read + INTERVAL), deadline)?;
        let rest = until.since(now);
        let rests = self.streak >= 4 && !self.full && rest >= LEAST && self.rests < RESTS;
        self.rests = if rests { self.rests + 1 } else { 0 };
        rests.then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if the loop rests after these batches, read one after the other.
    fn rests_after(batches: &[Batch]) -> bool {
        let mut moderation = Moderation::default();
        let start = Instant::ZERO + Duration::from_secs(1);
        for batch in batches {
            moderation.read(start, *batch);
        }
        moderation.rest(start, None).is_some()
    }

    fn batch(datagrams: usize, is_full: bool) -> Batch {
        Batch { datagrams, is_full }
    }

    #[test]
    fn it_rests_while_batches_come_closely_that_leave_nothing() {
        assert!(!rests_after(&[batch(3, false); 4]));
        assert!(rests_after(&[batch(3, false); 6]));
        assert!(!rests_after(&[batch(BATCH, false); 6]), "enough at once");
    }

    #[test]
    fn it_reads_on_where_something_may_be_left() {
        assert!(!rests_after(&[batch(16, true); 6]));
        let mut batches = [batch(16, true); 7];
        batches[6] = batch(1, false);
        assert!(rests_after(&batches), "all is read");
    }
}
