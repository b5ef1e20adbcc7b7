//! Why a request failed.

use nfs::checks::Implausible;
use nfs::{Malformed, Procedure, Status};
use rpc::Failure;
use rpc::message::Refusal;

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server said no.
    #[error("{procedure}: {status}")]
    Refused {
        /// To which call.
        procedure: Procedure,
        /// Why.
        status: Status,
    },
    /// The call did not get through.
    #[error("{procedure}: {failure}")]
    Failed {
        /// Which call.
        procedure: Procedure,
        /// What became of it.
        failure: Failure,
    },
    /// The server's answer cannot be read.
    #[error("{procedure}: the server's answer cannot be read: {fault}")]
    Malformed {
        /// To which call.
        procedure: Procedure,
        /// What is wrong with it.
        fault: Malformed,
    },
    /// The server's answer cannot be true.
    #[error("{procedure}: {fault}")]
    Implausible {
        /// To which call.
        procedure: Procedure,
        /// What is wrong with it.
        fault: Implausible,
    },
    /// The server did it and does not say what it made, and it cannot be found.
    #[error("{procedure}: the server says that it was done, but not what it made")]
    Untold {
        /// Which call.
        procedure: Procedure,
    },
    /// Nothing is open under this number.
    #[error("the file is not open")]
    NotOpen,
    /// Too much waits already.
    #[error("more than {limit} requests wait; wait for some of them to end")]
    TooMany {
        /// How many may.
        limit: usize,
    },
    /// What was written ends beyond the largest file.
    #[error("the file would be larger than any file can be")]
    TooLarge,
    /// The client of files broke its contract.
    #[error("the reply does not fit the operation")]
    OtherReply,
}

impl Error {
    /// The server's status, if that is what it is.
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether the server has failed over the size of the call, or may have: some take less over datagrams than they
    /// say.
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

    /// Whether no reply came in time (of a soft client).
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
