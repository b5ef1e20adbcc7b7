//! The queue of calls before the one disk.

use std::collections::VecDeque;

use bytes::Bytes;
use units::Instant;

use crate::Peer;
use crate::replies::Key;

/// A call that waits.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) arrived: Instant,
    pub(crate) from: Peer,
    pub(crate) message: Bytes,
    pub(crate) key: Option<Key>,
}

/// A call that was executed, whose reply is not due yet.
#[derive(Debug, Clone)]
pub(crate) struct Serving {
    pub(crate) until: Instant,
    pub(crate) to: Peer,
    /// The reply; `None` if the message was not a call.
    pub(crate) reply: Option<Bytes>,
    pub(crate) key: Option<Key>,
}

/// Calls that wait, and the one in service.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Largest size of waiting calls, in bytes.
    limit: u64,
    waiting: VecDeque<Waiting>,
    bytes: u64,
    serving: Option<Serving>,
    free_at: Instant,
}

impl Line {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            waiting: VecDeque::new(),
            bytes: 0,
            serving: None,
            free_at: Instant::ZERO,
        }
    }

    /// Adds a call; returns true if there is room for it.
    pub(crate) fn push(&mut self, call: Waiting) -> bool {
        let length = cost(&call);
        let fits = length <= self.limit - self.bytes;
        if fits {
            self.bytes += length;
            self.waiting.push_back(call);
        }
        fits
    }

    /// Returns the next call, and the time at which its service begins, if no call is in service.
    pub(crate) fn begin(&mut self) -> Option<(Instant, Waiting)> {
        if self.serving.is_some() {
            return None;
        }
        let call = self.waiting.pop_front()?;
        self.bytes -= cost(&call);
        Some((call.arrived.max(self.free_at), call))
    }

    pub(crate) fn serve(&mut self, serving: Serving) {
        self.free_at = serving.until;
        self.serving = Some(serving);
    }

    /// Returns the call whose service has ended by now.
    pub(crate) fn finish(&mut self, now: Instant) -> Option<Serving> {
        self.serving.take_if(|serving| serving.until <= now)
    }

    /// Returns the time at which the current service ends.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.serving.as_ref().map(|serving| serving.until)
    }

    /// Removes all calls.
    pub(crate) fn clear(&mut self, now: Instant) {
        *self = Self {
            free_at: now,
            ..Self::new(self.limit)
        };
    }
}

/// Returns the room that a waiting call takes, which is more than zero even for an empty one.
fn cost(call: &Waiting) -> u64 {
    call.message.len() as u64 + size_of::<Waiting>() as u64
}
