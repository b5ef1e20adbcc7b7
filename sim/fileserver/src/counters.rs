//! Counters of a server.

use nfs::{Numbered, Procedure};

/// Counters of a [`Server`](crate::Server).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages that arrived.
    pub received: u64,
    /// Messages that were not calls.
    pub malformed: u64,
    /// Calls that the server refused: unknown programs, invalid arguments, messages that were too long.
    pub refused: u64,
    /// Calls of programs other than NFS that were executed.
    pub others: u64,
    /// Copies of a call that were answered from the reply cache.
    pub replayed: u64,
    /// Copies of a call that were dropped because it was in progress.
    pub dropped: u64,
    /// Calls that were lost because the receive buffer was full.
    pub overflowed: u64,
    /// Bytes lost in crashes.
    pub bytes_lost: u64,
    /// Random faults.
    pub injected: Injected,
    executed: [u64; Procedure::ALL.len()],
}

/// Counters of random faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Injected {
    /// Calls that did not arrive.
    pub lost_requests: u64,
    /// Calls that arrived twice.
    pub repeated_requests: u64,
    /// Replies that did not leave.
    pub lost_replies: u64,
    /// Replies that left late.
    pub delayed_replies: u64,
    /// Replies with the transaction number of another call.
    pub wrong_transactions: u64,
    /// Replies that were cut, or had extra bytes at their end.
    pub broken_replies: u64,
    /// Calls that were answered with `NFS3ERR_JUKEBOX`.
    pub try_later: u64,
    /// Calls that moved fewer bytes than they could.
    pub short_transfers: u64,
}

impl Counters {
    /// Returns the number of executions of `procedure`, whatever the result.
    pub fn executed(&self, procedure: Procedure) -> u64 {
        self.executed[procedure as usize]
    }

    /// Returns the number of executions of all NFS procedures.
    pub fn executed_in_all(&self) -> u64 {
        self.executed.iter().sum()
    }

    pub(crate) fn note(&mut self, procedure: Procedure) {
        self.executed[procedure as usize] += 1;
    }
}
