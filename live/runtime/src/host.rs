//! What the loop drives.

use hosts::{Choice, Host, Input, Output};
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

    /// By which way TCP connections with a peer cross the hop that begin now, where that is chosen for each.
    fn choice(&self, _peer: usize) -> Option<Choice> {
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

    fn choice(&self, peer: usize) -> Option<Choice> {
        self.choice(peer)
    }
}
