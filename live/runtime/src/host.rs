//! What the loop drives.

use hosts::{Host, Input, Output, SplitStatus};
use machine::Machine;
use serde_json::Value;
use units::{Bytes, Instant};

/// A machine between a packet device and a bearer, which can say how it does. [`Host`] is the one
/// that daemons run.
pub trait Driven: Machine<Input = Input, Output = Output> {
    /// How it does, for `lasthop status`.
    fn status(&self, now: Instant) -> Value;

    /// What it may hold, at most.
    fn memory_most(&self) -> Bytes;

    /// Returns what has become of connections that are split, where they are.
    fn split_status(&self) -> Option<SplitStatus> {
        None
    }
}

impl Driven for Host {
    fn status(&self, now: Instant) -> Value {
        // A status is numbers and text; nothing in it can refuse to become JSON.
        serde_json::to_value(self.status(now)).unwrap_or_default()
    }

    fn memory_most(&self) -> Bytes {
        self.memory().1
    }

    fn split_status(&self) -> Option<SplitStatus> {
        self.split_status()
    }
}
