//! The error numbers for programs.

use files::Error;
use nfs::{BadName, Status};
use rpc::message::Refusal;

/// An error number, as on most Linux architectures (`asm-generic/errno.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// `EPERM`.
    pub const PERM: Self = Self(1);
    /// `ENOENT`.
    pub const NOENT: Self = Self(2);
    /// `EINTR`.
    pub const INTR: Self = Self(4);
    /// `EIO`.
    pub const IO: Self = Self(5);
    /// `ENXIO`.
    pub const NXIO: Self = Self(6);
    /// `EBADF`.
    pub const BADF: Self = Self(9);
    /// `EAGAIN`.
    pub const AGAIN: Self = Self(11);
    /// `EACCES`.
    pub const ACCESS: Self = Self(13);
    /// `EEXIST`.
    pub const EXIST: Self = Self(17);
    /// `EXDEV`.
    pub const XDEV: Self = Self(18);
    /// `ENODEV`.
    pub const NODEV: Self = Self(19);
    /// `ENOTDIR`.
    pub const NOTDIR: Self = Self(20);
    /// `EISDIR`.
    pub const ISDIR: Self = Self(21);
    /// `EINVAL`.
    pub const INVAL: Self = Self(22);
    /// `ENFILE`.
    pub const NFILE: Self = Self(23);
    /// `EFBIG`.
    pub const FBIG: Self = Self(27);
    /// `ENOSPC`.
    pub const NOSPC: Self = Self(28);
    /// `EROFS`.
    pub const ROFS: Self = Self(30);
    /// `EMLINK`.
    pub const MLINK: Self = Self(31);
    /// `ENAMETOOLONG`.
    pub const NAMETOOLONG: Self = Self(36);
    /// `ENOSYS`.
    pub const NOSYS: Self = Self(38);
    /// `ENOTEMPTY`.
    pub const NOTEMPTY: Self = Self(39);
    /// `EREMOTE`.
    pub const REMOTE: Self = Self(66);
    /// `EOVERFLOW`.
    pub const OVERFLOW: Self = Self(75);
    /// `EOPNOTSUPP`.
    pub const OPNOTSUPP: Self = Self(95);
    /// `ESHUTDOWN`.
    pub const SHUTDOWN: Self = Self(108);
    /// `ETIMEDOUT`.
    pub const TIMEDOUT: Self = Self(110);
    /// `ESTALE`.
    pub const STALE: Self = Self(116);
    /// `EDQUOT`.
    pub const DQUOT: Self = Self(122);
}

/// Reason why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An error of the server or the file client.
    Files(Error),
    /// The waiting process got a signal that shall end it.
    Interrupted,
    /// The file client has ended.
    Closed,
}

impl Failure {
    /// Returns the error number for the program. Faults of the server without an error number become `EIO`: the log
    /// has the details.
    pub(crate) fn errno(self) -> Errno {
        match self {
            Self::Interrupted => Errno::INTR,
            Self::Closed => Errno::SHUTDOWN,
            Self::Files(error) => errno_of_files(&error),
        }
    }
}

fn errno_of_files(error: &Error) -> Errno {
    match error {
        Error::Refused { status, .. } => errno_of_status(*status),
        Error::Failed { failure, .. } => match failure {
            rpc::Failure::Expired(_) => Errno::TIMEDOUT,
            rpc::Failure::Refused(Refusal::Authentication(_)) => Errno::ACCESS,
            rpc::Failure::Refused(_)
            | rpc::Failure::Malformed(_)
            | rpc::Failure::TooLong { .. } => Errno::IO,
        },
        Error::Malformed { .. }
        | Error::Implausible { .. }
        | Error::Untold { .. }
        | Error::OtherReply => Errno::IO,
        Error::NotOpen => Errno::BADF,
        Error::TooMany { .. } => Errno::NFILE,
        Error::TooLarge => Errno::FBIG,
    }
}

/// Returns true if the server or the client of files is to blame in a way that no error number says.
pub(crate) fn is_servers_fault(error: &Error) -> bool {
    matches!(
        error,
        Error::Malformed { .. }
            | Error::Implausible { .. }
            | Error::Untold { .. }
            | Error::OtherReply
            | Error::Failed {
                failure: rpc::Failure::Refused(_) | rpc::Failure::Malformed(_),
                ..
            }
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

/// Returns the error number for an invalid name, which is not sent to a server.
pub(crate) fn errno_of_name(fault: BadName) -> Errno {
    match fault {
        BadName::TooLong { .. } => Errno::NAMETOOLONG,
        BadName::Empty => Errno::NOENT,
        BadName::Slash { .. } | BadName::Zero { .. } | BadName::Dots => Errno::INVAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_the_protocol_has_its_number() {
        for (status, errno) in [
            (Status::NoEntry, Errno::NOENT),
            (Status::NoSpace, Errno::NOSPC),
            (Status::QuotaExceeded, Errno::DQUOT),
            (Status::BadHandle, Errno::STALE),
            (Status::NameTooLong, Errno::NAMETOOLONG),
            (Status::NotEmpty, Errno::NOTEMPTY),
        ] {
            let procedure = nfs::Procedure::Write;
            let error = Failure::Files(Error::Refused { procedure, status });
            assert_eq!(error.errno(), errno);
        }
        let failure = rpc::Failure::Expired(units::Duration::from_secs(5));
        let procedure = nfs::Procedure::Write;
        let expired = Failure::Files(Error::Failed { procedure, failure });
        assert_eq!(expired.errno(), Errno::TIMEDOUT);
    }
}
