//! FSSTAT, FSINFO and PATHCONF: the space, properties and name limits of a file system.

use crate::outcome::request;
use crate::value::{bits, fields};
use crate::{Attributes, FileHandle, Time};

/// FSSTAT: reads the space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileSystemStatus {
    /// Any file of the file system.
    pub root: FileHandle,
}

fields!(FileSystemStatus { root });
request!(FileSystemStatus, FileSystemStatus => Space, Option<Attributes>);

/// Space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Space {
    /// Attributes of the file in the request.
    pub attributes: Option<Attributes>,
    /// Total size, in bytes.
    pub total_bytes: u64,
    /// Free space, in bytes.
    pub free_bytes: u64,
    /// Free space that the caller may use, in bytes.
    pub available_bytes: u64,
    /// Largest number of files.
    pub total_files: u64,
    /// Number of files that can still be created.
    pub free_files: u64,
    /// Number of files that the caller may still create.
    pub available_files: u64,
    /// Number of seconds for which no change is expected.
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

/// FSINFO: reads the properties of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileSystemInfo {
    /// Any file of the file system.
    pub root: FileHandle,
}

fields!(FileSystemInfo { root });
request!(FileSystemInfo, FileSystemInfo => ServerAbilities, Option<Attributes>);

bits! {
    /// Properties of a file system: a set of bits.
    FileSystemProperties {
        /// Supports hard links.
        LINK = 1,
        /// Supports symbolic links.
        SYMBOLIC_LINK = 2,
        /// Returns the same PATHCONF results for all files.
        HOMOGENEOUS = 8,
        /// Can set times by SETATTR.
        SET_TIME = 16,
    }
}

/// Transfer sizes of a server, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockSizes {
    /// Maximum size.
    pub maximum: u32,
    /// Preferred size.
    pub preferred: u32,
    /// Number of which sizes should be multiples.
    pub multiple: u32,
}

fields!(BlockSizes {
    maximum,
    preferred,
    multiple
});

/// Properties of a server. Sizes are as the server sends them; they may exceed its transport's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerAbilities {
    /// Attributes of the file in the request.
    pub attributes: Option<Attributes>,
    /// Sizes of a READ.
    pub read: BlockSizes,
    /// Sizes of a WRITE.
    pub write: BlockSizes,
    /// Preferred size of a READDIR, in bytes.
    pub directory_preferred: u32,
    /// Maximum size of a file, in bytes.
    pub largest_file: u64,
    /// Resolution of the server's times.
    pub time_resolution: Time,
    /// Properties of the file system.
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

/// PATHCONF: reads the limits of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathConfiguration {
    /// File or directory for which they hold.
    pub object: FileHandle,
}

fields!(PathConfiguration { object });
request!(PathConfiguration, PathConfiguration => NameRules, Option<Attributes>);

/// Limits of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NameRules {
    /// Attributes of the file in the request.
    pub attributes: Option<Attributes>,
    /// Maximum number of hard links to a file.
    pub links_maximum: u32,
    /// Maximum length of a name, in bytes.
    pub name_maximum: u32,
    /// True if a name that is too long is refused, not truncated.
    pub refuses_long_names: bool,
    /// True if only privileged users may change the owner of a file.
    pub restricts_owner_changes: bool,
    /// True if names that differ only in case are the same.
    pub ignores_case: bool,
    /// True if the case of a new name is preserved.
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
