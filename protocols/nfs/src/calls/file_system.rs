//! FSSTAT, FSINFO and PATHCONF: what a file system has and can.

use crate::outcome::request;
use crate::value::{bits, fields};
use crate::{Attributes, FileHandle, Time};

/// FSSTAT: asks how full a file system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileSystemStatus {
    /// Any file of it.
    pub root: FileHandle,
}

fields!(FileSystemStatus { root });
request!(FileSystemStatus, FileSystemStatus => Space, Option<Attributes>);

/// How full a file system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Space {
    /// The attributes of the file that was asked with.
    pub attributes: Option<Attributes>,
    /// How many bytes it has.
    pub total_bytes: u64,
    /// How many are free.
    pub free_bytes: u64,
    /// How many of them the caller may use.
    pub available_bytes: u64,
    /// How many files it can have.
    pub total_files: u64,
    /// How many more it can have.
    pub free_files: u64,
    /// How many of them the caller may make.
    pub available_files: u64,
    /// For how many seconds this is not expected to change.
    pub unchanged_seconds: u32,
}

fields!(Space {
    attributes,
    total_bytes,
    free_bytes,
    available_bytes,
    total_files,
    free_files,
    available_files,
    unchanged_seconds,
});

/// FSINFO: asks what a server can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileSystemInfo {
    /// Any file of the file system.
    pub root: FileHandle,
}

fields!(FileSystemInfo { root });
request!(FileSystemInfo, FileSystemInfo => ServerAbilities, Option<Attributes>);

bits! {
    /// What a file system can: a sum of bits.
    FileSystemProperties {
        /// Hard links.
        LINK = 1,
        /// Symbolic links.
        SYMBOLIC_LINK = 2,
        /// PATHCONF answers the same for all files.
        HOMOGENEOUS = 8,
        /// SETATTR can set times.
        SET_TIME = 16,
    }
}

/// What sizes a server takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockSizes {
    /// The largest.
    pub maximum: u32,
    /// What it likes best.
    pub preferred: u32,
    /// What sizes should be multiples of.
    pub multiple: u32,
}

fields!(BlockSizes {
    maximum,
    preferred,
    multiple
});

/// What a server can do. Sizes are what the server says, which need not fit its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerAbilities {
    /// The attributes of the file that was asked with.
    pub attributes: Option<Attributes>,
    /// Of a READ.
    pub read: BlockSizes,
    /// Of a WRITE.
    pub write: BlockSizes,
    /// The size of a READDIR that the server likes best, in bytes.
    pub directory_preferred: u32,
    /// The largest size of a file, in bytes.
    pub largest_file: u64,
    /// How finely the server keeps times.
    pub time_resolution: Time,
    /// What the file system can.
    pub properties: FileSystemProperties,
}

fields!(ServerAbilities {
    attributes,
    read,
    write,
    directory_preferred,
    largest_file,
    time_resolution,
    properties,
});

/// PATHCONF: asks what names may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathConfiguration {
    /// The file or directory that is asked about.
    pub object: FileHandle,
}

fields!(PathConfiguration { object });
request!(PathConfiguration, PathConfiguration => NameRules, Option<Attributes>);

/// What names may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NameRules {
    /// The attributes of the file that was asked about.
    pub attributes: Option<Attributes>,
    /// How many names a file can have.
    pub links_maximum: u32,
    /// How long a name can be, in bytes.
    pub name_maximum: u32,
    /// Whether a name that is too long is refused, and not cut.
    pub refuses_long_names: bool,
    /// Whether only the privileged may give files away.
    pub restricts_owner_changes: bool,
    /// Whether names that differ only in the case of letters are the same.
    pub ignores_case: bool,
    /// Whether the case of letters stays what it was made with.
    pub keeps_case: bool,
}

fields!(NameRules {
    attributes,
    links_maximum,
    name_maximum,
    refuses_long_names,
    restricts_owner_changes,
    ignores_case,
    keeps_case,
});
