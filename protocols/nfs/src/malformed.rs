//! Errors in bytes that are parsed as a call or an answer.

use rpc::xdr;

/// Reason why bytes are not the expected value. Places are in bytes from the start of the arguments or results, after
/// the header of the remote procedure call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The representation is invalid, or a limit is exceeded.
    #[error(transparent)]
    Representation(#[from] xdr::Malformed),
    /// A name or path is not allowed.
    #[error("`{what}` at byte {at}: {fault}")]
    Name {
        /// Name of the value.
        what: &'static str,
        /// Start of the value.
        at: usize,
        /// Error in the name.
        fault: BadName,
    },
    /// A count contradicts its data.
    #[error("`{what}` at byte {at}: says {said} bytes where {present} follow")]
    Count {
        /// Name of the value.
        what: &'static str,
        /// Start of the value.
        at: usize,
        /// Count, in bytes.
        said: u32,
        /// Length of the data, in bytes.
        present: usize,
    },
}

/// Reason why a name or a path is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is too long.
    #[error("{length} bytes, at most {limit} allowed")]
    TooLong {
        /// Length, in bytes.
        length: usize,
        /// Limit, in bytes.
        limit: usize,
    },
    /// The name has a slash, and would lead into another directory.
    #[error("a `/` at its byte {at}, which no name may have")]
    Slash {
        /// Offset of the slash.
        at: usize,
    },
    /// There is a zero byte, at which systems would cut the name.
    #[error("a zero byte at its byte {at}")]
    Zero {
        /// Offset of the zero byte.
        at: usize,
    },
    /// The name is `.` or `..`: the directory itself, or its parent.
    #[error("`.` and `..` name no entry of a directory")]
    Dots,
}
