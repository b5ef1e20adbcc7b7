//! What can be wrong with bytes that claim to be a call or an answer.

use rpc::xdr;

use crate::name::BadName;

/// Why bytes are not the value that they should be. Places count bytes from where arguments or results
/// begin, so behind the header of the remote procedure call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The representation is broken, or a limit exceeded.
    #[error(transparent)]
    Representation(#[from] xdr::Malformed),
    /// A name or path that nobody may use.
    #[error("`{what}` at byte {at}: {fault}")]
    Name {
        /// The value.
        what: &'static str,
        /// Where it begins.
        at: usize,
        /// What is wrong with it.
        fault: BadName,
    },
    /// A count that contradicts the data that it counts.
    #[error("`{what}` at byte {at}: says {said} bytes where {present} follow")]
    Count {
        /// The value.
        what: &'static str,
        /// Where it begins.
        at: usize,
        /// What it says, in bytes.
        said: u32,
        /// The data's own length, in bytes.
        present: usize,
    },
}
