//! The counters of a client.

use serde::{Deserialize, Serialize};

/// What a [`Client`](crate::Client) has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Messages sent.
    pub sent: Sent,
    /// Retransmissions by cause.
    pub repeated: Repeated,
    /// Messages received.
    pub received: Received,
    /// Calls that were cancelled.
    pub cancelled: u64,
    /// Soft calls that had no reply in time.
    pub expired: u64,
    /// Number of times that the server was reported silent.
    pub silences: u64,
}

/// What went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sent {
    /// Calls, each counted once.
    pub calls: u64,
    /// Messages: every transmission of a call counts.
    pub messages: u64,
    /// Bytes of messages.
    pub bytes: u64,
}

/// Calls that were sent again, by what made them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repeated {
    /// A timeout.
    pub timeouts: u64,
    /// The end of a fade, of a hand-off, or of the server's silence.
    pub resumed: u64,
    /// Replies to later calls.
    pub overtaken: u64,
    /// A new stream.
    pub reconnected: u64,
}

/// What came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Received {
    /// Messages.
    pub messages: u64,
    /// Bytes of messages, record marks included.
    pub bytes: u64,
    /// Replies with results that ended a call.
    pub replies: u64,
    /// Refusals that ended a call.
    pub refusals: u64,
    /// Replies to calls that had ended: duplicates, and those that came too late.
    pub late: u64,
    /// Replies to calls that were never made, or ended too long ago.
    pub unknown: u64,
    /// Messages that are no reply, or replies that fail the check of results.
    pub malformed: u64,
    /// Streams that could not be read any further.
    pub broken_streams: u64,
}

impl Repeated {
    /// Returns the number of all retransmissions.
    pub fn total(&self) -> u64 {
        self.timeouts + self.resumed + self.overtaken + self.reconnected
    }
}
