//! Errors of requests.

use nfs::checks::Implausible;
use nfs::{Malformed, Procedure, Status};
use rpc::Failure;
use rpc::message::Refusal;

/// Reason why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server refused the call.
    #[error("{procedure}: {status}")]
    Refused {
        /// Procedure of the call.
        procedure: Procedure,
        /// Status in the reply.
        status: Status,
    },
    /// The call did not get through.
    #[error("{procedure}: {failure}")]
    Failed {
        /// Procedure of the call.
        procedure: Procedure,
        /// Failure of the call.
        failure: Failure,
    },
    /// The server's reply cannot be decoded.
    #[error("{procedure}: the server's answer cannot be read: {fault}")]
    Malformed {
        /// Procedure of the call.
        procedure: Procedure,
        /// Fault of the reply.
        fault: Malformed,
    },
    /// The server's reply cannot be true.
    #[error("{procedure}: {fault}")]
    Implausible {
        /// Procedure of the call.
        procedure: Procedure,
        /// Fault of the reply.
        fault: Implausible,
    },
    /// The server carried out the call but did not report what it made, and it cannot be found.
    #[error("{procedure}: the server says that it was done, but not what it made")]
    Untold {
        /// Procedure of the call.
        procedure: Procedure,
    },
    /// No file is open under this number.
    #[error("the file is not open")]
    NotOpen,
    /// Too many requests wait already.
    #[error("more than {limit} requests wait; wait for some of them to end")]
    TooMany {
        /// Limit of requests.
        limit: usize,
    },
    /// The written data end beyond the largest file.
    #[error("the file would be larger than any file can be")]
    TooLarge,
    /// The client returned a reply of another kind than the operation has. This is a bug.
    #[error("the reply does not fit the operation")]
    OtherReply,
}

impl Error {
    /// Returns the server's status, if it refused the call.
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns true if the server failed over the size of the call, or may have: some accept less over datagrams than
    /// they report.
    pub(crate) fn wants_smaller(&self) -> bool {
        let Self::Failed {
            failure: Failure::Refused(refusal),
            ..
        } = self
        else {
            return false;
        };
        matches!(refusal, Refusal::GarbageArguments | Refusal::SystemError)
    }

    /// Returns true if no reply came in time (for a soft client).
    pub fn is_expired(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                failure: Failure::Expired(_),
                ..
            }
        )
    }
}
