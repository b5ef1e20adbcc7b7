//! What a server has done.

use nfs::{Numbered, Procedure};

/// What a [`Server`](crate::Server) has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages that arrived.
    pub received: u64,
    /// Messages that were no call.
    pub malformed: u64,
    /// Calls that the server refused: unknown programs, arguments that it could not read, messages that were too long.
    pub refused: u64,
    /// Calls that programs other than NFS executed.
    pub others: u64,
    /// Copies of a call that were answered from the reply cache.
    pub replayed: u64,
    /// Copies of a call that were dropped because it was under way.
    pub dropped: u64,
    /// Calls that found the receive buffer full.
    pub overflowed: u64,
    /// Bytes that crashes lost.
    pub bytes_lost: u64,
    /// What went wrong by chance.
    pub injected: Injected,
    executed: [u64; Procedure::ALL.len()],
}

/// What went wrong by chance, each counted.
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
    /// Replies with the number of another call.
    pub wrong_transactions: u64,
    /// Replies that were cut, or had bytes behind their end.
    pub broken_replies: u64,
    /// Calls that were answered `NFS3ERR_JUKEBOX`.
    pub try_later: u64,
    /// Calls that were to move fewer bytes.
    pub short_transfers: u64,
}

impl Counters {
    /// How often `procedure` was executed, whatever it answered.
    pub fn executed(&self, procedure: Procedure) -> u64 {
        self.executed[procedure as usize]
    }

    /// How often any procedure of NFS was executed.
    pub fn executed_in_all(&self) -> u64 {
        self.executed.iter().sum()
    }

    pub(crate) fn note(&mut self, procedure: Procedure) {
        self.executed[procedure as usize] += 1;
    }
}
