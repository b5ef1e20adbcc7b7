//! The procedures of NFS, and the effect of executing them twice.

use std::fmt;

use rpc::Class;

use crate::value::numbers;

/// Number of the NFS program (RFC 1813 §1.2).
pub const PROGRAM: u32 = 100_003;
/// Version of the protocol.
pub const VERSION: u32 = 3;

/// A procedure of NFS version 3 (RFC 1813 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Procedure {
    /// NULL: tests if the server answers.
    Null = 0,
    /// GETATTR: reads the attributes of a file.
    GetAttributes = 1,
    /// SETATTR: sets attributes, including the size.
    SetAttributes = 2,
    /// LOOKUP: looks up a name in a directory.
    LookUp = 3,
    /// ACCESS: checks the caller's access rights.
    Access = 4,
    /// READLINK: reads the target of a symbolic link.
    ReadLink = 5,
    /// READ: reads data of a file.
    Read = 6,
    /// WRITE: writes data to a file.
    Write = 7,
    /// CREATE: creates a regular file.
    Create = 8,
    /// MKDIR: creates a directory.
    MakeDirectory = 9,
    /// SYMLINK: creates a symbolic link.
    MakeSymbolicLink = 10,
    /// MKNOD: creates a device, socket or pipe.
    MakeNode = 11,
    /// REMOVE: removes a name of a file that is no directory.
    Remove = 12,
    /// RMDIR: removes a directory.
    RemoveDirectory = 13,
    /// RENAME: renames an entry.
    Rename = 14,
    /// LINK: adds a hard link to a file.
    Link = 15,
    /// READDIR: lists names in a directory.
    ReadDirectory = 16,
    /// READDIRPLUS: lists names in a directory, with attributes and handles.
    ReadDirectoryPlus = 17,
    /// FSSTAT: reads the space of a file system.
    FileSystemStatus = 18,
    /// FSINFO: reads the properties of a server.
    FileSystemInfo = 19,
    /// PATHCONF: reads the limits of names.
    PathConfiguration = 20,
    /// COMMIT: makes unstable data stable.
    Commit = 21,
}

numbers!(Procedure {
    Null,
    GetAttributes,
    SetAttributes,
    LookUp,
    Access,
    ReadLink,
    Read,
    Write,
    Create,
    MakeDirectory,
    MakeSymbolicLink,
    MakeNode,
    Remove,
    RemoveDirectory,
    Rename,
    Link,
    ReadDirectory,
    ReadDirectoryPlus,
    FileSystemStatus,
    FileSystemInfo,
    PathConfiguration,
    Commit,
});

/// Effect of a second execution of a call, which happens if the server does not recognize the repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Idempotency {
    /// None: the call changes nothing at the server.
    Reads,
    /// The result of the first execution again, if there was no other change in between: a late copy undoes such a
    /// change.
    Overwrites,
    /// Failure, or damage: the answer alone does not show the result.
    Once,
}

impl Procedure {
    /// Returns the name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::GetAttributes => "GETATTR",
            Self::SetAttributes => "SETATTR",
            Self::LookUp => "LOOKUP",
            Self::Access => "ACCESS",
            Self::ReadLink => "READLINK",
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::Create => "CREATE",
            Self::MakeDirectory => "MKDIR",
            Self::MakeSymbolicLink => "SYMLINK",
            Self::MakeNode => "MKNOD",
            Self::Remove => "REMOVE",
            Self::RemoveDirectory => "RMDIR",
            Self::Rename => "RENAME",
            Self::Link => "LINK",
            Self::ReadDirectory => "READDIR",
            Self::ReadDirectoryPlus => "READDIRPLUS",
            Self::FileSystemStatus => "FSSTAT",
            Self::FileSystemInfo => "FSINFO",
            Self::PathConfiguration => "PATHCONF",
            Self::Commit => "COMMIT",
        }
    }

    /// Returns the effect of a second execution, whatever the arguments: see also [`crate::Call::idempotency`].
    pub fn idempotency(self) -> Idempotency {
        match self {
            Self::Null
            | Self::GetAttributes
            | Self::LookUp
            | Self::Access
            | Self::ReadLink
            | Self::Read
            | Self::ReadDirectory
            | Self::ReadDirectoryPlus
            | Self::FileSystemStatus
            | Self::FileSystemInfo
            | Self::PathConfiguration => Idempotency::Reads,
            Self::SetAttributes | Self::Write | Self::Commit => Idempotency::Overwrites,
            Self::Create
            | Self::MakeDirectory
            | Self::MakeSymbolicLink
            | Self::MakeNode
            | Self::Remove
            | Self::RemoveDirectory
            | Self::Rename
            | Self::Link => Idempotency::Once,
        }
    }

    /// Returns the class whose round trips include this procedure's: one of the five timers of the classic clients,
    /// or the class of all others, which are too rare or too different to be predicted.
    pub fn class(self) -> Class {
        match self {
            Self::GetAttributes | Self::Access => Class::Attributes,
            Self::LookUp => Class::Lookup,
            Self::Read | Self::ReadLink | Self::ReadDirectory | Self::ReadDirectoryPlus => {
                Class::Read
            }
            Self::Write => Class::Write,
            Self::Commit => Class::Commit,
            _ => Class::Other,
        }
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

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
