//! The interface of a host that the loop drives.

use hosts::{Host, Input, Output, SplitStatus};
use machine::Machine;
use serde::Serialize;
use units::{Bytes, Instant};

/// A machine between a packet device and a bearer, with a status. Daemons run [`Host`].
pub trait DrivenHost: Machine<Input = Input, Output = Output> {
    /// Its status, as shown in JSON.
    type Status: Serialize;

    /// Returns its state, for `lasthop status`.
    fn status(&self, now: Instant) -> Self::Status;

    /// Returns the largest memory that it may hold.
    fn memory_most(&self) -> Bytes;

    /// Returns the status of split connections, if it has any.
    fn split_status(&self) -> Option<SplitStatus> {
        None
    }
}

impl DrivenHost for Host {
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
