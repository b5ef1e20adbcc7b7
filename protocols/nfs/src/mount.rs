//! The MOUNT protocol, version 3 (RFC 1813, appendix I): from the path of an export to its handle.

use std::fmt;

use rpc::xdr::{Reader, Writer};

use crate::value::{fields, numbers};
use crate::{FileHandle, HostName, Limits, List, Malformed, Outcome, Path, Value};

/// The number of the program that gives handles of exports.
pub const PROGRAM: u32 = 100_005;
/// The version that is spoken.
pub const VERSION: u32 = 3;

/// How many ways to authenticate a server may offer; the standards know a dozen.
const FLAVORS_MAX: usize = 64;

/// A procedure of the MOUNT protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Procedure {
    /// NULL: nothing, to see whether somebody answers; no arguments, no result.
    Null = 0,
    /// MNT: [`Path`] of an export to [`MountAnswer`].
    Mount = 1,
    /// DUMP: nothing to [`MountList`].
    Dump = 2,
    /// UMNT: [`Path`] of an export to nothing.
    Unmount = 3,
    /// UMNTALL: nothing to nothing.
    UnmountAll = 4,
    /// EXPORT: nothing to [`ExportList`].
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
    /// The name in the standard.
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

/// Why a server gives no handle (`mountstat3` without `MNT3_OK`).
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
    /// The directory is not exported to this host, or not to a port that everybody can use.
    #[error("permission denied: not exported to this host or port (MNT3ERR_ACCES)")]
    AccessDenied = 13,
    /// The path leads to no directory.
    #[error("not a directory (MNT3ERR_NOTDIR)")]
    NotDirectory = 20,
    /// The path makes no sense.
    #[error("an argument is invalid (MNT3ERR_INVAL)")]
    InvalidArgument = 22,
    /// The path is longer than the server takes.
    #[error("the path is too long for the server (MNT3ERR_NAMETOOLONG)")]
    NameTooLong = 63,
    /// The server does not do this.
    #[error("the server does not support this (MNT3ERR_NOTSUPP)")]
    NotSupported = 10_004,
    /// Something else is wrong at the server.
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

/// The ways to authenticate that a server takes: numbers as in RFC 5531 §8.2, best first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flavors {
    numbers: [u32; FLAVORS_MAX],
    count: u8,
}

impl Flavors {
    /// These ways; none if there are more than 64.
    pub fn new(flavors: &[u32]) -> Option<Self> {
        let mut numbers = [0; FLAVORS_MAX];
        numbers.get_mut(..flavors.len())?.copy_from_slice(flavors);
        Some(Self {
            numbers,
            count: u8::try_from(flavors.len()).ok()?,
        })
    }

    /// Their numbers.
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

/// The handle of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mounted {
    /// The handle.
    pub root: FileHandle,
    /// The ways to authenticate that the server takes.
    pub flavors: Flavors,
}

fields!(Mounted { root, flavors });

/// What MNT answers.
pub type MountAnswer = Outcome<Mounted, (), Status>;

/// Somebody who asked for a handle and did not give it back (`mountbody`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mount<'a> {
    /// The client.
    pub host: HostName<'a>,
    /// The export.
    pub directory: Path<'a>,
}

fields!(Mount<'a> { host, directory });

/// What DUMP answers.
pub type MountList<'a> = List<'a, Mount<'a>>;

/// A directory that can be mounted (`exportnode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export<'a> {
    /// The directory.
    pub directory: Path<'a>,
    /// Who may; everybody if nobody is listed.
    pub groups: List<'a, HostName<'a>>,
}

fields!(Export<'a> { directory, groups });

/// What EXPORT answers.
pub type ExportList<'a> = List<'a, Export<'a>>;
