//! READDIR and READDIRPLUS: the entries of a directory, page by page.

use crate::outcome::request;
use crate::value::{fields, verifier};
use crate::{Attributes, FileHandle, List, ListedName};

verifier! {
    /// Identifier of the state of a directory in which its cookies are valid (`cookieverf3`).
    CookieVerifier
}

/// READDIR: reads entries of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadDirectory {
    /// The directory.
    pub directory: FileHandle,
    /// Cookie of the entry before the first one to read; 0 at the start.
    pub cookie: u64,
    /// Verifier that came with that cookie; zeros at the start.
    pub verifier: CookieVerifier,
    /// Maximum size of the result, in bytes.
    pub count: u32,
}

fields!(ReadDirectory {
    directory,
    cookie,
    verifier,
    count
});
request!(ReadDirectory, ReadDirectory => Page<'r>, Option<Attributes>);

/// An entry of a directory (`entry3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry<'a> {
    /// ID of the file within its file system: the inode number.
    pub file_id: u64,
    /// Name, not yet checked.
    pub name: ListedName<'a>,
    /// Cookie to continue after this entry.
    pub cookie: u64,
}

fields!(Entry<'a> { file_id, name, cookie });

/// Entries of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// The directory's attributes.
    pub attributes: Option<Attributes>,
    /// Identifier of the directory's state in which the cookies are valid.
    pub verifier: CookieVerifier,
    /// The entries.
    pub entries: List<'a, Entry<'a>>,
    /// True if no more entries follow.
    pub end_of_directory: bool,
}

fields!(Page<'a> { attributes, verifier, entries, end_of_directory });

/// READDIRPLUS: reads entries of a directory with their attributes and handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadDirectoryPlus {
    /// The directory.
    pub directory: FileHandle,
    /// Cookie of the entry before the first one to read; 0 at the start.
    pub cookie: u64,
    /// Verifier that came with that cookie; zeros at the start.
    pub verifier: CookieVerifier,
    /// Maximum size of IDs, names and cookies together, in bytes.
    pub directory_count: u32,
    /// Maximum size of the complete result, in bytes.
    pub maximum_count: u32,
}

fields!(ReadDirectoryPlus {
    directory,
    cookie,
    verifier,
    directory_count,
    maximum_count
});
request!(ReadDirectoryPlus, ReadDirectoryPlus => PagePlus<'r>, Option<Attributes>);

/// An entry of a directory with attributes and handle (`entryplus3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryPlus<'a> {
    /// ID of the file within its file system: the inode number.
    pub file_id: u64,
    /// Name, not yet checked.
    pub name: ListedName<'a>,
    /// Cookie to continue after this entry.
    pub cookie: u64,
    /// The file's attributes.
    pub attributes: Option<Attributes>,
    /// The file.
    pub object: Option<FileHandle>,
}

fields!(EntryPlus<'a> { file_id, name, cookie, attributes, object });

/// Entries of a directory with attributes and handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagePlus<'a> {
    /// The directory's attributes.
    pub attributes: Option<Attributes>,
    /// Identifier of the directory's state in which the cookies are valid.
    pub verifier: CookieVerifier,
    /// The entries.
    pub entries: List<'a, EntryPlus<'a>>,
    /// True if no more entries follow.
    pub end_of_directory: bool,
}

fields!(PagePlus<'a> { attributes, verifier, entries, end_of_directory });
