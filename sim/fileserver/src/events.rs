//! Inputs and outputs of the server.

use bytes::Bytes;
use nfs::{FileHandle, Procedure, Status};

use crate::Faults;

/// Number by which the driver identifies a client's address and port, or its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u64);

/// An input of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A message arrives: one datagram, or one record of a stream without its marks (see
    /// [`RecordStream`](crate::RecordStream)).
    Received {
        /// Sender of the message.
        from: Peer,
        /// Bytes of the message.
        message: Bytes,
    },
    /// The server crashes and restarts: waiting calls, the reply cache and unstable data are lost, and the write
    /// verifier changes. Names, attributes and handles stay.
    Restart,
    /// A fault is in effect from now on.
    Fault(Fault),
}

/// An output of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send a message.
    Send {
        /// Receiver of the message.
        to: Peer,
        /// Bytes of the message, without record marks.
        message: Bytes,
    },
}

/// A fault that a test can set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Random faults happen with these probabilities instead of those of the configuration.
    Chances(Faults),
    /// True to ignore all messages, as if the server were down. Calls in progress continue.
    Silent(bool),
    /// This handle is stale for ever; its file gets another one.
    Stale(FileHandle),
    /// All directory cookies become invalid.
    ForgetCookies,
    /// The next calls of a procedure fail and are not executed. A later refusal of the same procedure replaces an
    /// earlier one.
    Refuse {
        /// The procedure; [`Procedure::Null`] cannot fail.
        procedure: Procedure,
        /// Status of the reply.
        status: Status,
        /// Number of calls that fail.
        calls: u32,
    },
    /// The server gives false answers, or true ones again.
    FalseAnswer(Option<FalseAnswer>),
}

/// False answer of a hostile server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FalseAnswer {
    /// Directory listings contain names outside of the directory: `../` before each.
    SlashNames,
    /// Directory listings contain names of 4,095 bytes.
    LongNames,
    /// Directory listings never end: after the last entry they start again, with the same cookies.
    CookieLoop,
    /// Directory listings contain no entries, but do not end.
    EmptyPages,
    /// Files have sizes larger than 2⁶³ bytes.
    HugeFiles,
    /// READ and WRITE return a count of 4 GiB less one byte, whatever the data.
    HugeCounts,
    /// READ returns one byte more than was requested.
    TooMuchData,
    /// READ returns no data before the end of the file.
    NoData,
    /// WRITE reports data as unstable that were to be stable. (They are stable all the same.)
    LessStable,
}

impl FalseAnswer {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::SlashNames,
        Self::LongNames,
        Self::CookieLoop,
        Self::EmptyPages,
        Self::HugeFiles,
        Self::HugeCounts,
        Self::TooMuchData,
        Self::NoData,
        Self::LessStable,
    ];
}
