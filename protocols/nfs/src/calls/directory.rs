//! LOOKUP, READLINK, REMOVE, RMDIR, RENAME and LINK: operations on directory entries.

use crate::outcome::request;
use crate::value::fields;
use crate::{Attributes, FileHandle, Name, Path, WeakCacheData};

/// A name in a directory (`diropargs3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place<'a> {
    /// The directory.
    pub directory: FileHandle,
    /// The name.
    pub name: Name<'a>,
}

fields!(Place<'a> { directory, name });

/// LOOKUP: looks up a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LookUp<'a> {
    /// Directory and name.
    pub place: Place<'a>,
}

fields!(LookUp<'a> { place });
request!(LookUp<'_>, LookUp => LookedUp, Option<Attributes>);

/// Result of a LOOKUP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LookedUp {
    /// The file.
    pub object: FileHandle,
    /// Its attributes.
    pub attributes: Option<Attributes>,
    /// Attributes of the directory.
    pub directory: Option<Attributes>,
}

fields!(LookedUp {
    object,
    attributes,
    directory
});

/// READLINK: reads the target of a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadLink {
    /// The link.
    pub link: FileHandle,
}

fields!(ReadLink { link });
request!(ReadLink, ReadLink => Target<'r>, Option<Attributes>);

/// Target of a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target<'a> {
    /// The link's attributes.
    pub attributes: Option<Attributes>,
    /// Path, which only the client interprets.
    pub path: Path<'a>,
}

fields!(Target<'a> { attributes, path });

/// REMOVE: removes a name of a file that is no directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Remove<'a> {
    /// Directory and name.
    pub place: Place<'a>,
}

fields!(Remove<'a> { place });
request!(Remove<'_>, Remove => WeakCacheData, WeakCacheData);

/// RMDIR: removes an empty directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RemoveDirectory<'a> {
    /// Parent directory and name.
    pub place: Place<'a>,
}

fields!(RemoveDirectory<'a> { place });
request!(RemoveDirectory<'_>, RemoveDirectory => WeakCacheData, WeakCacheData);

/// RENAME: renames an entry, and replaces an entry that has the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rename<'a> {
    /// Old directory and name.
    pub from: Place<'a>,
    /// New directory and name.
    pub to: Place<'a>,
}

fields!(Rename<'a> { from, to });
request!(Rename<'_>, Rename => Renamed, Renamed);

/// Attributes of both directories after a RENAME, successful or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Renamed {
    /// Directory of the old name.
    pub from: WeakCacheData,
    /// Directory of the new name.
    pub to: WeakCacheData,
}

fields!(Renamed { from, to });

/// LINK: adds a hard link to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link<'a> {
    /// The file.
    pub file: FileHandle,
    /// Directory and name of the new link.
    pub place: Place<'a>,
}

fields!(Link<'a> { file, place });
request!(Link<'_>, Link => Linked, Linked);

/// Attributes after a LINK, successful or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Linked {
    /// The file's attributes.
    pub attributes: Option<Attributes>,
    /// Attributes of the directory.
    pub directory: WeakCacheData,
}

fields!(Linked {
    attributes,
    directory
});
