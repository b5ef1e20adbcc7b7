//! The attachment of this mobile host to a gateway of its site.

use association::Report;
use units::{Duration, Instant};

/// Pause before the first repetition of a request; it doubles, up to the longest one.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MOST: Duration = Duration::from_secs(2);
/// Time after which an attachment is given up, and the same if the former gateway is silent, as there may be others.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_IN_SILENCE: Duration = Duration::from_secs(2);

/// Cause of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No gateway serves this host yet, or the one that does has begun anew. It cannot be given up.
    First,
    /// A request.
    Asked,
    /// The silence of the former gateway.
    Silence,
}

/// An attachment that is not complete.
#[derive(Debug)]
pub(crate) struct Attachment {
    /// Index of the next gateway.
    pub(crate) to: usize,
    pub(crate) number: u64,
    pub(crate) cause: Cause,
    /// True if the other end of the hop remains, and this is another path to it.
    pub(crate) is_path: bool,
    pub(crate) since: Instant,
    /// What this host has delivered of the former gateway's packets, once it asks.
    pub(crate) report: Option<Report>,
    /// Time of the next request, since this host asks.
    pub(crate) due: Option<Instant>,
    pause: Duration,
    /// Time when it is given up, if this host can stay with another gateway.
    ends: Option<Instant>,
}

impl Attachment {
    /// Returns an attachment to the gateway `to`.
    pub(crate) fn new(now: Instant, to: usize, number: u64, cause: Cause) -> Self {
        let patience = match cause {
            Cause::First => None,
            Cause::Asked => Some(PATIENCE),
            Cause::Silence => Some(PATIENCE_IN_SILENCE),
        };
        Self {
            to,
            number,
            cause,
            is_path: false,
            since: now,
            report: None,
            due: None,
            pause: PAUSE,
            ends: patience.map(|patience| now + patience),
        }
    }

    /// Returns true if the association with the former gateway is frozen.
    pub(crate) fn freezes(&self) -> bool {
        self.due.is_some() && !self.is_path
    }

    /// Returns true if a request is due, and sets the time of the next one.
    pub(crate) fn asks(&mut self, now: Instant) -> bool {
        let asks = self.due.is_some_and(|due| due <= now);
        if asks {
            self.due = Some(now + self.pause);
            self.pause = (self.pause * 2).min(PAUSE_MOST);
        }
        asks
    }

    /// Returns the time of the next request, or when it is given up.
    pub(crate) fn acts_at(&self) -> Option<Instant> {
        machine::earlier(self.due, self.ends)
    }

    /// Returns true if it is to be given up.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.ends.is_some_and(|ends| ends <= now)
    }
}
