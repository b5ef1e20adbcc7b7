//! The arguments and results of all procedures.

mod attributes;
mod creation;
mod data;
mod directory;
mod file_system;
mod listing;

pub use attributes::{Access, AccessAnswer, AccessRights, GetAttributes, SetAttributes};
pub use creation::{
    Create, CreateHow, CreateVerifier, Created, DeviceData, MakeDirectory, MakeNode,
    MakeSymbolicLink, Node,
};
pub use data::{Commit, Committed, Read, ReadData, Stability, Write, WriteVerifier, Written};
pub use directory::{
    Link, Linked, LookUp, LookedUp, Place, ReadLink, Remove, RemoveDirectory, Rename, Renamed,
    Target,
};
pub use file_system::{
    BlockSizes, FileSystemInfo, FileSystemProperties, FileSystemStatus, NameRules,
    PathConfiguration, ServerAbilities, Space,
};
pub use listing::{
    CookieVerifier, Entry, EntryPlus, Page, PagePlus, ReadDirectory, ReadDirectoryPlus,
};
