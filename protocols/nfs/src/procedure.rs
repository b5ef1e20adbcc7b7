//! What a server can be asked for, and what a client must know of it to ask twice.

use std::fmt;

use rpc::Class;

use crate::value::numbers;

/// The number of the program that serves files (RFC 1813 §1.2).
pub const PROGRAM: u32 = 100_003;
/// The version that is spoken.
pub const VERSION: u32 = 3;

/// A procedure of NFS version 3 (RFC 1813 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Procedure {
    /// NULL: nothing, to see whether somebody answers.
    Null = 0,
    /// GETATTR: the attributes of a file.
    GetAttributes = 1,
    /// SETATTR: sets attributes, size among them.
    SetAttributes = 2,
    /// LOOKUP: finds a name in a directory.
    LookUp = 3,
    /// ACCESS: what the caller may do.
    Access = 4,
    /// READLINK: where a symbolic link leads.
    ReadLink = 5,
    /// READ: data of a file.
    Read = 6,
    /// WRITE: data into a file.
    Write = 7,
    /// CREATE: makes a regular file.
    Create = 8,
    /// MKDIR: makes a directory.
    MakeDirectory = 9,
    /// SYMLINK: makes a symbolic link.
    MakeSymbolicLink = 10,
    /// MKNOD: makes a device, socket or pipe.
    MakeNode = 11,
    /// REMOVE: removes a name of something that is no directory.
    Remove = 12,
    /// RMDIR: removes a directory.
    RemoveDirectory = 13,
    /// RENAME: moves a name.
    Rename = 14,
    /// LINK: gives a file one more name.
    Link = 15,
    /// READDIR: names in a directory.
    ReadDirectory = 16,
    /// READDIRPLUS: names in a directory, with attributes and handles.
    ReadDirectoryPlus = 17,
    /// FSSTAT: how full a file system is.
    FileSystemStatus = 18,
    /// FSINFO: what a server can do.
    FileSystemInfo = 19,
    /// PATHCONF: what names may be.
    PathConfiguration = 20,
    /// COMMIT: makes data stable that was written unstable.
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

/// What happens when a server executes a call twice, because it forgot or never knew that it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Idempotency {
    /// Nothing changes at the server, once or twice.
    Reads,
    /// The second execution leaves what the first left, if nothing else came between: a late copy undoes
    /// what did.
    Overwrites,
    /// The second execution fails, or does harm: its answer tells nothing without a look.
    Once,
}

impl Procedure {
    /// The name in the standard.
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

    /// What a second execution does, whatever the arguments: see also [`crate::Call::idempotency`].
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

    /// Whose round trips are measured with this one's: those of the five timers of the classic clients,
    /// and all others, which are too rare or too different to be predicted.
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
