//! Acknowledgements that are repeated until the other end of their connection sends something: where TCP repairs
//! itself, nothing else repairs them, or the reset that answers them.

use std::collections::BTreeSet;

use units::{Duration, Instant};
use wire::flow::FlowKey;

/// Pause before the first repetition; it doubles.
const PAUSE: Duration = Duration::from_millis(500);
/// Repetitions for a connection that is silent, as one that is whole and idle is.
const REPETITIONS: u32 = 6;

/// Connections of this end whose last acknowledgement was repeated, and that have not been heard of since.
#[derive(Debug)]
pub(crate) struct Revival {
    silent: BTreeSet<FlowKey>,
    due: Instant,
    pause: Duration,
    left: u32,
}

impl Revival {
    /// Returns the revival of these connections, whose acknowledgements are sent now.
    pub(crate) fn new(now: Instant, silent: BTreeSet<FlowKey>) -> Self {
        Self {
            silent,
            due: now + PAUSE,
            pause: PAUSE,
            left: REPETITIONS,
        }
    }

    /// Records a segment of the other end; `key` is the flow of the answers.
    pub(crate) fn received(&mut self, key: &FlowKey) {
        self.silent.remove(key);
    }

    /// Returns the connections whose acknowledgement is due again.
    pub(crate) fn repeat(&mut self, now: Instant) -> Vec<FlowKey> {
        if now < self.due || self.is_over() {
            return Vec::new();
        }
        self.left -= 1;
        self.pause = self.pause * 2;
        self.due = now + self.pause;
        self.silent.iter().copied().collect()
    }

    /// Returns true if no acknowledgement will be repeated.
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0 || self.silent.is_empty()
    }

    /// Returns the time of the next repetition.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }
}
