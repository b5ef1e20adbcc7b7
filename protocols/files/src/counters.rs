//! What a client has done.

use serde::Serialize;

/// What a [`Client`](crate::Client) has done so far, beside its calls ([`Client::calls`](crate::Client::calls)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Requests that the server was asked for.
    pub requests: u64,
    /// Bytes that READs have brought.
    pub read_bytes: u64,
    /// Bytes that WRITEs have brought to the server.
    pub written_bytes: u64,
    /// Pieces that were written again, as the server had lost them.
    pub written_again: u64,
    /// Bytes that were given up, as the server did not take them.
    pub lost_bytes: u64,
    /// Times that the server was another than before: it had started again.
    pub restarts: u64,
    /// Answers that asked for more time.
    pub postponed: u64,
    /// Names that a server listed and nobody may see.
    pub bad_names: u64,
    /// Files that were removed while they were open.
    pub open_removals: u64,
}
