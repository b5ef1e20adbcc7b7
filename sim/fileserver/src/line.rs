//! The line of calls before the one disk.

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

/// A call that was executed, whose answer is not ready yet.
#[derive(Debug, Clone)]
pub(crate) struct Serving {
    pub(crate) until: Instant,
    pub(crate) to: Peer,
    /// Nothing to what is no call.
    pub(crate) reply: Option<Bytes>,
    pub(crate) key: Option<Key>,
}

/// Calls that wait, and the one that is served.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Bytes that may wait.
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

    /// A call comes; says whether there is room for it.
    pub(crate) fn push(&mut self, call: Waiting) -> bool {
        let length = cost(&call);
        let fits = length <= self.limit - self.bytes;
        if fits {
            self.bytes += length;
            self.waiting.push_back(call);
        }
        fits
    }

    /// The call to be served next, and when that begins, if none is being served.
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

    /// The call that has been served by now.
    pub(crate) fn finish(&mut self, now: Instant) -> Option<Serving> {
        self.serving.take_if(|serving| serving.until <= now)
    }

    /// When the call that is being served will have been.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.serving.as_ref().map(|serving| serving.until)
    }

    /// Nobody waits any more.
    pub(crate) fn clear(&mut self, now: Instant) {
        *self = Self {
            free_at: now,
            ..Self::new(self.limit)
        };
    }
}

/// What a waiting call takes of the room: an empty one something, too.
fn cost(call: &Waiting) -> u64 {
    call.message.len() as u64 + size_of::<Waiting>() as u64
}
