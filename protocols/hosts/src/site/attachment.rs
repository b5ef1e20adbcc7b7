//! The attachment of this mobile host to a gateway of its site.

use association::Report;
use units::{Duration, Instant};

/// Pause before the first repetition of a request; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
/// Time after which an attachment is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// An attachment that is not complete.
#[derive(Debug)]
pub(crate) struct Attachment {
    /// Index of the next gateway.
    pub(crate) to: usize,
    pub(crate) number: u64,
    pub(crate) since: Instant,
    /// What this host has delivered of the former gateway's packets, once it asks.
    pub(crate) report: Option<Report>,
    /// Time of the next request, since this host asks.
    pub(crate) due: Option<Instant>,
    pause: Duration,
}

impl Attachment {
    pub(crate) fn new(now: Instant, to: usize, number: u64) -> Self {
        Self {
            to,
            number,
            since: now,
            report: None,
            due: None,
            pause: PAUSE,
        }
    }

    /// Returns true if a request is due, and sets the time of the next one.
    pub(crate) fn asks(&mut self, now: Instant) -> bool {
        let asks = self.due.is_some_and(|due| due <= now);
        if asks {
            self.due = Some(now + self.pause);
            self.pause = self.pause * 2;
        }
        asks
    }

    /// Returns the time of the next request, or when it is given up.
    pub(crate) fn acts_at(&self) -> Option<Instant> {
        machine::earlier(self.due, Some(self.ends()))
    }

    /// Returns the time when it is given up.
    pub(crate) fn ends(&self) -> Instant {
        self.since + PATIENCE
    }
}
