//! What the loop drives.

use hosts::{Host, Input, Output, SplitStatus};
use machine::Machine;
use serde::Serialize;
use units::{Bytes, Instant};

/// A machine between a packet device and a bearer, which can say how it does. [`Host`] is the one
/// that daemons run.
pub trait Driven: Machine<Input = Input, Output = Output> {
    /// Its state, as JSON shows it.
    type Status: Serialize;

    /// Returns its state, for `lasthop status`.
    fn status(&self, now: Instant) -> Self::Status;

    /// What it may hold, at most.
    fn memory_most(&self) -> Bytes;

    /// Returns what has become of connections that are split, where they are.
    fn split_status(&self) -> Option<SplitStatus> {
        None
    }
}

impl Driven for Host {
    type Status = hosts::Status;

    fn status(&self, now: Instant) -> hosts::Status {
        self.status(now)
    }

    fn memory_most(&self) -> Bytes {
        self.memory().1
    }

    fn split_status(&self) -> Option<SplitStatus> {
        self.split_status()
    }
}
