//! The interface of a host that the loop drives.

use hosts::{Host, Input, Output, SplitStatus};
use machine::Machine;
use serde_json::Value;
use units::{Bytes, Instant};

/// A machine between a packet device and a bearer, with a status. Daemons run [`Host`].
pub trait Driven: Machine<Input = Input, Output = Output> {
    /// Returns its status, for `lasthop status`.
    fn status(&self, now: Instant) -> Value;

    /// Returns the largest memory that it may hold.
    fn memory_most(&self) -> Bytes;

    /// Returns the status of split connections, if it has any.
    fn split_status(&self) -> Option<SplitStatus> {
        None
    }
}

impl Driven for Host {
    fn status(&self, now: Instant) -> Value {
        // A status is numbers and text, so its conversion to JSON cannot fail.
        serde_json::to_value(self.status(now)).unwrap_or_default()
    }

    fn memory_most(&self) -> Bytes {
        self.memory().1
    }

    fn split_status(&self) -> Option<SplitStatus> {
        self.split_status()
    }
}
