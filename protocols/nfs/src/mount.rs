//! The MOUNT protocol, version 3 (RFC 1813, appendix I): from the path of an export to its handle.

use std::fmt;

use rpc::xdr::{Reader, Writer};

use crate::value::{fields, numbers};
use crate::{FileHandle, HostName, Limits, List, Malformed, Outcome, Path, Value};

/// Number of the MOUNT program.
pub const PROGRAM: u32 = 100_005;
/// Version of the protocol.
pub const VERSION: u32 = 3;

/// Largest number of authentication flavors of a server; the standards have a dozen.
const FLAVORS_MAX: usize = 64;

/// A procedure of the MOUNT protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Procedure {
    /// NULL: tests if the server answers; no arguments, no result.
    Null = 0,
    /// MNT: returns the handle of an export; [`Path`] to [`MountAnswer`].
    Mount = 1,
    /// DUMP: lists the mounts; no arguments to [`MountList`].
    Dump = 2,
    /// UMNT: removes a mount; [`Path`] of the export to no result.
    Unmount = 3,
    /// UMNTALL: removes all mounts of the client; no arguments, no result.
    UnmountAll = 4,
    /// EXPORT: lists the exports; no arguments to [`ExportList`].
    Export = 5,
}

numbers!(Procedure {
    Null,
    Mount,
    Dump,
    Unmount,
    UnmountAll,
    Export,
});

impl Procedure {
    /// Returns the name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Mount => "MNT",
            Self::Dump => "DUMP",
            Self::Unmount => "UMNT",
            Self::UnmountAll => "UMNTALL",
            Self::Export => "EXPORT",
        }
    }
}

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Procedure> for rpc::Procedure {
    fn from(procedure: Procedure) -> Self {
        Self {
            program: PROGRAM,
            version: VERSION,
            number: procedure as u32,
        }
    }
}

/// Reason why a server returns no handle (`mountstat3` without `MNT3_OK`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[repr(u32)]
pub enum Status {
    /// The caller is neither the owner nor privileged.
    #[error("not the owner (MNT3ERR_PERM)")]
    NotOwner = 1,
    /// There is no such directory.
    #[error("no such directory (MNT3ERR_NOENT)")]
    NoEntry = 2,
    /// The server's disk or the like failed.
    #[error("input or output failed at the server (MNT3ERR_IO)")]
    InputOutput = 5,
    /// The directory is not exported to this host, or only to privileged ports.
    #[error("permission denied: not exported to this host or port (MNT3ERR_ACCES)")]
    AccessDenied = 13,
    /// The path is no directory.
    #[error("not a directory (MNT3ERR_NOTDIR)")]
    NotDirectory = 20,
    /// The path is invalid.
    #[error("an argument is invalid (MNT3ERR_INVAL)")]
    InvalidArgument = 22,
    /// The path is longer than the server allows.
    #[error("the path is too long for the server (MNT3ERR_NAMETOOLONG)")]
    NameTooLong = 63,
    /// The server does not support this procedure.
    #[error("the server does not support this (MNT3ERR_NOTSUPP)")]
    NotSupported = 10_004,
    /// Another error of the server.
    #[error("the server failed (MNT3ERR_SERVERFAULT)")]
    ServerFault = 10_006,
}

numbers!(Status {
    NotOwner,
    NoEntry,
    InputOutput,
    AccessDenied,
    NotDirectory,
    InvalidArgument,
    NameTooLong,
    NotSupported,
    ServerFault,
});

/// Authentication flavors that a server accepts: numbers as in RFC 5531 §8.2, best first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flavors {
    numbers: [u32; FLAVORS_MAX],
    count: u8,
}

impl Flavors {
    /// Returns these flavors, or none if there are more than 64.
    pub fn new(flavors: &[u32]) -> Option<Self> {
        let mut numbers = [0; FLAVORS_MAX];
        numbers.get_mut(..flavors.len())?.copy_from_slice(flavors);
        Some(Self {
            numbers,
            count: u8::try_from(flavors.len()).ok()?,
        })
    }

    /// Returns their numbers.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers[..usize::from(self.count)]
    }
}

impl fmt::Debug for Flavors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.numbers()).finish()
    }
}

impl Value<'_> for Flavors {
    fn read(
        what: &'static str,
        reader: &mut Reader<'_>,
        _limits: &Limits,
    ) -> Result<Self, Malformed> {
        let count = reader.length(what, FLAVORS_MAX)?;
        let mut numbers = [0; FLAVORS_MAX];
        for number in &mut numbers[..count] {
            *number = reader.u32(what)?;
        }
        Ok(Self {
            numbers,
            count: count as u8,
        })
    }

    fn write(&self, out: &mut Writer<'_>) {
        out.u32(self.count.into());
        for &number in self.numbers() {
            out.u32(number);
        }
    }
}

/// Result of MNT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mounted {
    /// Handle of the export's root.
    pub root: FileHandle,
    /// Authentication flavors that the server accepts.
    pub flavors: Flavors,
}

fields!(Mounted { root, flavors });

/// Answer to MNT.
pub type MountAnswer = Outcome<Mounted, (), Status>;

/// A mount by a client that was not removed yet (`mountbody`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mount<'a> {
    /// Host of the client.
    pub host: HostName<'a>,
    /// Exported directory.
    pub directory: Path<'a>,
}

fields!(Mount<'a> { host, directory });

/// Answer to DUMP.
pub type MountList<'a> = List<'a, Mount<'a>>;

/// An exported directory (`exportnode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export<'a> {
    /// Path of the directory.
    pub directory: Path<'a>,
    /// Groups of hosts that may mount it; if there are none, every host may.
    pub groups: List<'a, HostName<'a>>,
}

fields!(Export<'a> { directory, groups });

/// Answer to EXPORT.
pub type ExportList<'a> = List<'a, Export<'a>>;
