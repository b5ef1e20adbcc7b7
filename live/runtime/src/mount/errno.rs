//! Why something failed, as programs are told.

use files::Error;
use nfs::{BadName, Status};
use rpc::Failure;
use rpc::message::Refusal;
use rustix::io::Errno;

use crate::files::CallError;

/// What a program is told of a call that failed. What only a broken server can cause is `EIO`: the log says more.
pub fn errno_of(error: &CallError) -> Errno {
    match error {
        CallError::Cancelled => Errno::INTR,
        CallError::Closed => Errno::SHUTDOWN,
        CallError::Files(error) => errno_of_files(error),
    }
}

fn errno_of_files(error: &Error) -> Errno {
    match error {
        Error::Refused { status, .. } => errno_of_status(*status),
        Error::Failed { failure, .. } => match failure {
            Failure::Expired(_) => Errno::TIMEDOUT,
            Failure::Refused(Refusal::Authentication(_)) => Errno::ACCESS,
            Failure::Refused(_) | Failure::Malformed(_) | Failure::TooLong { .. } => Errno::IO,
        },
        Error::Malformed { .. } | Error::Implausible { .. } | Error::Untold { .. } => Errno::IO,
        Error::NotOpen => Errno::BADF,
        Error::TooMany { .. } => Errno::NFILE,
        Error::TooLarge => Errno::FBIG,
    }
}

/// Whether the server is to blame in a way that a program cannot be told.
pub(super) fn is_servers_fault(error: &CallError) -> bool {
    matches!(
        error,
        CallError::Files(
            Error::Malformed { .. }
                | Error::Implausible { .. }
                | Error::Untold { .. }
                | Error::Failed {
                    failure: Failure::Refused(_) | Failure::Malformed(_),
                    ..
                }
        )
    )
}

fn errno_of_status(status: Status) -> Errno {
    match status {
        Status::NotOwner => Errno::PERM,
        Status::NoEntry => Errno::NOENT,
        Status::InputOutput | Status::ServerFault => Errno::IO,
        Status::NoDeviceOrAddress => Errno::NXIO,
        Status::AccessDenied => Errno::ACCESS,
        Status::Exists => Errno::EXIST,
        Status::CrossDevice => Errno::XDEV,
        Status::NoDevice => Errno::NODEV,
        Status::NotDirectory => Errno::NOTDIR,
        Status::IsDirectory => Errno::ISDIR,
        Status::InvalidArgument | Status::BadType | Status::BadCookie => Errno::INVAL,
        Status::FileTooLarge => Errno::FBIG,
        Status::NoSpace => Errno::NOSPC,
        Status::ReadOnly => Errno::ROFS,
        Status::TooManyLinks => Errno::MLINK,
        Status::NameTooLong => Errno::NAMETOOLONG,
        Status::NotEmpty => Errno::NOTEMPTY,
        Status::QuotaExceeded => Errno::DQUOT,
        Status::Stale | Status::BadHandle => Errno::STALE,
        Status::TooRemote => Errno::REMOTE,
        Status::NotSynchronized | Status::TryLater => Errno::AGAIN,
        Status::NotSupported => Errno::OPNOTSUPP,
        Status::TooSmall => Errno::OVERFLOW,
    }
}

/// What a program is told that gave a name which no server is asked for.
pub(super) fn errno_of_name(fault: BadName) -> Errno {
    match fault {
        BadName::TooLong { .. } => Errno::NAMETOOLONG,
        BadName::Empty => Errno::NOENT,
        BadName::Slash { .. } | BadName::Zero { .. } | BadName::Dots => Errno::INVAL,
    }
}
