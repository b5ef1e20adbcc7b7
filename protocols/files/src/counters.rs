//! The counters of a client.

use serde::Serialize;

/// Counters of a [`Client`](crate::Client), without those of its calls ([`Client::calls`](crate::Client::calls)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Requests that needed the server.
    pub requests: u64,
    /// Bytes received by READs.
    pub read_bytes: u64,
    /// Bytes delivered to the server by WRITEs.
    pub written_bytes: u64,
    /// Pieces that were written again because the server had lost them.
    pub written_again: u64,
    /// Bytes dropped because the server refused them.
    pub lost_bytes: u64,
    /// Restarts of the server, noticed by a changed write verifier.
    pub restarts: u64,
    /// Replies that asked for a later retry.
    pub postponed: u64,
    /// Names in listings that were left out because they could do harm.
    pub bad_names: u64,
    /// Files that were removed while they were open.
    pub open_removals: u64,
}
