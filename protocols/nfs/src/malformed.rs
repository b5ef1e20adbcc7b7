//! Errors in bytes that are parsed as a call or an answer.

use rpc::xdr;

use crate::name::BadName;

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
