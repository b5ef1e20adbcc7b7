//! The reasons why a server did not execute a call.

use crate::value::numbers;

/// An error of NFS version 3 (RFC 1813 §2.6, `nfsstat3` without `NFS3_OK`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[repr(u32)]
pub enum Status {
    /// The caller is neither the owner nor privileged.
    #[error("not the owner (NFS3ERR_PERM)")]
    NotOwner = 1,
    /// There is no such file or directory.
    #[error("no such file or directory (NFS3ERR_NOENT)")]
    NoEntry = 2,
    /// The server's disk or the like failed.
    #[error("input or output failed at the server (NFS3ERR_IO)")]
    InputOutput = 5,
    /// There is no such device.
    #[error("no such device or address (NFS3ERR_NXIO)")]
    NoDeviceOrAddress = 6,
    /// The caller may not do this.
    #[error("permission denied (NFS3ERR_ACCES)")]
    AccessDenied = 13,
    /// The new name exists already.
    #[error("the file exists (NFS3ERR_EXIST)")]
    Exists = 17,
    /// A link or renaming would cross file systems.
    #[error("the link would cross file systems (NFS3ERR_XDEV)")]
    CrossDevice = 18,
    /// There is no such device.
    #[error("no such device (NFS3ERR_NODEV)")]
    NoDevice = 19,
    /// The operation needs a directory.
    #[error("not a directory (NFS3ERR_NOTDIR)")]
    NotDirectory = 20,
    /// The operation needs something other than a directory.
    #[error("is a directory (NFS3ERR_ISDIR)")]
    IsDirectory = 21,
    /// An argument is invalid for this file.
    #[error("an argument is invalid or not supported (NFS3ERR_INVAL)")]
    InvalidArgument = 22,
    /// The file would become larger than the server can store.
    #[error("the file would be too large (NFS3ERR_FBIG)")]
    FileTooLarge = 27,
    /// The server's disk is full.
    #[error("no space left at the server (NFS3ERR_NOSPC)")]
    NoSpace = 28,
    /// The file system is read-only.
    #[error("the file system is read-only (NFS3ERR_ROFS)")]
    ReadOnly = 30,
    /// The file has the maximum number of hard links.
    #[error("too many hard links (NFS3ERR_MLINK)")]
    TooManyLinks = 31,
    /// The name is longer than the server allows.
    #[error("the name is too long for the server (NFS3ERR_NAMETOOLONG)")]
    NameTooLong = 63,
    /// The directory has entries.
    #[error("the directory is not empty (NFS3ERR_NOTEMPTY)")]
    NotEmpty = 66,
    /// The quota of the owner is used up.
    #[error("the quota is used up (NFS3ERR_DQUOT)")]
    QuotaExceeded = 69,
    /// The file of the handle is gone, or the caller may no longer access it.
    #[error("the file is gone, its handle stale (NFS3ERR_STALE)")]
    Stale = 70,
    /// The handle leads through another server.
    #[error("too many levels of remote access (NFS3ERR_REMOTE)")]
    TooRemote = 71,
    /// The handle is invalid.
    #[error("the file handle is invalid (NFS3ERR_BADHANDLE)")]
    BadHandle = 10_001,
    /// The guard of a SETATTR did not match.
    #[error("the file changed meanwhile (NFS3ERR_NOT_SYNC)")]
    NotSynchronized = 10_002,
    /// The cookie of a READDIR is no longer valid.
    #[error("the place in the directory is not valid any more (NFS3ERR_BAD_COOKIE)")]
    BadCookie = 10_003,
    /// The server does not support this procedure.
    #[error("the server does not support this (NFS3ERR_NOTSUPP)")]
    NotSupported = 10_004,
    /// The caller's buffer or request is too small.
    #[error("the space for the answer is too small (NFS3ERR_TOOSMALL)")]
    TooSmall = 10_005,
    /// Another error of the server.
    #[error("the server failed (NFS3ERR_SERVERFAULT)")]
    ServerFault = 10_006,
    /// The server cannot make files of this type.
    #[error("the server has no files of this type (NFS3ERR_BADTYPE)")]
    BadType = 10_007,
    /// The server began an operation that takes long: try again later, with a new call.
    #[error("the server needs more time: try again (NFS3ERR_JUKEBOX)")]
    TryLater = 10_008,
}

numbers!(Status {
    NotOwner,
    NoEntry,
    InputOutput,
    NoDeviceOrAddress,
    AccessDenied,
    Exists,
    CrossDevice,
    NoDevice,
    NotDirectory,
    IsDirectory,
    InvalidArgument,
    FileTooLarge,
    NoSpace,
    ReadOnly,
    TooManyLinks,
    NameTooLong,
    NotEmpty,
    QuotaExceeded,
    Stale,
    TooRemote,
    BadHandle,
    NotSynchronized,
    BadCookie,
    NotSupported,
    TooSmall,
    ServerFault,
    BadType,
    TryLater,
});
