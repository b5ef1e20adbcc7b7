//! What the server hears, and what it does.

use bytes::Bytes;
use nfs::{FileHandle, Procedure, Status};

use crate::Faults;

/// A client's address and port, or connection, by a number that its driver gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u64);

/// What happens to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A message came: one datagram, or one record of a stream without its marks (see [`Stream`](crate::Stream)).
    Received {
        /// Whose it is.
        from: Peer,
        /// Its bytes.
        message: Bytes,
    },
    /// The server crashes and is there again: calls that wait, the reply cache and data that are not stable are lost,
    /// and the write verifier is another one. Names, attributes and handles stay.
    Restart,
    /// Something is not as it should be from now on.
    Fault(Fault),
}

/// What the server wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send a message.
    Send {
        /// To whom.
        to: Peer,
        /// Its bytes, without marks of records.
        message: Bytes,
    },
}

/// What a test can break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Mistakes happen with these chances instead of those of the configuration.
    Chances(Faults),
    /// Whether the server hears nothing, as if it were down. What it has begun goes on.
    Silent(bool),
    /// The handle is stale for ever; its file has another one.
    Stale(FileHandle),
    /// All cookies of directories become invalid.
    ForgetCookies,
    /// The next calls of a procedure fail; none of them is executed. Of two refusals of one procedure the last counts.
    Refuse {
        /// The procedure; [`Procedure::Null`] cannot fail.
        procedure: Procedure,
        /// What they are answered with.
        status: Status,
        /// How many.
        calls: u32,
    },
    /// The server tells what is not so, or the truth again.
    Lie(Option<Lie>),
}

/// What a hostile server tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// Directories list names that lead elsewhere: `../` before each.
    SlashNames,
    /// Directories list names of 4,095 bytes.
    LongNames,
    /// Directories have no end: behind the last entry they begin again, with the same cookies.
    CookieLoop,
    /// Directories list nothing, and go on.
    EmptyPages,
    /// Files are larger than 2⁶³ bytes.
    HugeFiles,
    /// READ and WRITE count 4 GiB less one byte, whatever there is.
    HugeCounts,
    /// READ brings one byte more than was asked for.
    TooMuchData,
    /// READ brings nothing before the end of the file.
    NoData,
    /// WRITE leaves unstable what was to be stable. (It is stable all the same.)
    LessStable,
}
