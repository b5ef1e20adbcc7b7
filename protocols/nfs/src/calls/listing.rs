//! READDIR and READDIRPLUS: the entries of a directory, page by page.

use crate::outcome::request;
use crate::value::{fields, verifier};
use crate::{Attributes, FileHandle, List, ListedName};

verifier! {
    /// Says in which state of a directory its cookies mean something (`cookieverf3`).
    CookieVerifier
}

/// READDIR: asks for entries of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadDirectory {
    /// The directory.
    pub directory: FileHandle,
    /// The cookie of the entry before the first that is wanted; 0 at the start.
    pub cookie: u64,
    /// What came with that cookie; zeros at the start.
    pub verifier: CookieVerifier,
    /// How large the result may be, in bytes.
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
    /// Names the file in its file system: the inode's number.
    pub file_id: u64,
    /// The name, not yet checked.
    pub name: ListedName<'a>,
    /// Where to go on behind this entry.
    pub cookie: u64,
}

fields!(Entry<'a> { file_id, name, cookie });

/// Entries of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// The directory's attributes.
    pub attributes: Option<Attributes>,
    /// The state of the directory in which the cookies mean something.
    pub verifier: CookieVerifier,
    /// The entries.
    pub entries: List<'a, Entry<'a>>,
    /// Whether no more follow.
    pub end_of_directory: bool,
}

fields!(Page<'a> { attributes, verifier, entries, end_of_directory });

/// READDIRPLUS: asks for entries of a directory with their attributes and handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadDirectoryPlus {
    /// The directory.
    pub directory: FileHandle,
    /// The cookie of the entry before the first that is wanted; 0 at the start.
    pub cookie: u64,
    /// What came with that cookie; zeros at the start.
    pub verifier: CookieVerifier,
    /// How large numbers, names and cookies may be together, in bytes.
    pub directory_count: u32,
    /// How large the result may be with all that it holds, in bytes.
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

/// An entry of a directory with what is known of it (`entryplus3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryPlus<'a> {
    /// Names the file in its file system: the inode's number.
    pub file_id: u64,
    /// The name, not yet checked.
    pub name: ListedName<'a>,
    /// Where to go on behind this entry.
    pub cookie: u64,
    /// The file's attributes.
    pub attributes: Option<Attributes>,
    /// The file.
    pub object: Option<FileHandle>,
}

fields!(EntryPlus<'a> { file_id, name, cookie, attributes, object });

/// Entries of a directory with what is known of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagePlus<'a> {
    /// The directory's attributes.
    pub attributes: Option<Attributes>,
    /// The state of the directory in which the cookies mean something.
    pub verifier: CookieVerifier,
    /// The entries.
    pub entries: List<'a, EntryPlus<'a>>,
    /// Whether no more follow.
    pub end_of_directory: bool,
}

fields!(PagePlus<'a> { attributes, verifier, entries, end_of_directory });
