//! A message that is repeated until it is answered: it may be lost, and so may the answer.

use units::{Duration, Instant};

/// Time until a message is repeated: at first, and at most.
const FIRST: Duration = Duration::from_millis(500);
const MOST: Duration = Duration::from_secs(30);

/// The times of a message and its repetitions.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    /// Time of the next one, until there is an answer.
    due: Option<Instant>,
    interval: Duration,
}

impl Repetition {
    /// Begins now.
    pub(crate) fn begin(&mut self, now: Instant) {
        (self.due, self.interval) = (Some(now), FIRST);
    }

    /// Ends, with an answer or without.
    pub(crate) fn end(&mut self) {
        self.due = None;
    }

    /// Returns the time of the next message.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Notes that a message is sent, the first one or another; returns the time of the next one.
    pub(crate) fn sent(&mut self, now: Instant) -> Instant {
        if self.due.is_none() {
            self.interval = FIRST;
        }
        let due = now + self.interval;
        (self.due, self.interval) = (Some(due), (self.interval * 2).min(MOST));
        due
    }

    /// Returns true if a message is due now, and notes that it is sent.
    pub(crate) fn sends(&mut self, now: Instant) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            self.sent(now);
        }
        is_due
    }
}
