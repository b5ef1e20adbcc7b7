//! LOOKUP, READLINK, REMOVE, RMDIR, RENAME and LINK: names and where they lead.

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

/// LOOKUP: asks what a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LookUp<'a> {
    /// The name.
    pub place: Place<'a>,
}

fields!(LookUp<'a> { place });
request!(LookUp<'_>, LookUp => LookedUp, Option<Attributes>);

/// What a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LookedUp {
    /// The file.
    pub object: FileHandle,
    /// Its attributes.
    pub attributes: Option<Attributes>,
    /// Those of the directory.
    pub directory: Option<Attributes>,
}

fields!(LookedUp {
    object,
    attributes,
    directory
});

/// READLINK: asks where a symbolic link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadLink {
    /// The link.
    pub link: FileHandle,
}

fields!(ReadLink { link });
request!(ReadLink, ReadLink => Target<'r>, Option<Attributes>);

/// Where a symbolic link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target<'a> {
    /// The link's attributes.
    pub attributes: Option<Attributes>,
    /// The path, which only the client interprets.
    pub path: Path<'a>,
}

fields!(Target<'a> { attributes, path });

/// REMOVE: removes a name of something that is no directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Remove<'a> {
    /// The name.
    pub place: Place<'a>,
}

fields!(Remove<'a> { place });
request!(Remove<'_>, Remove => WeakCacheData, WeakCacheData);

/// RMDIR: removes a directory that is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RemoveDirectory<'a> {
    /// The name.
    pub place: Place<'a>,
}

fields!(RemoveDirectory<'a> { place });
request!(RemoveDirectory<'_>, RemoveDirectory => WeakCacheData, WeakCacheData);

/// RENAME: moves a name, in place of what has the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rename<'a> {
    /// The old name.
    pub from: Place<'a>,
    /// The new name.
    pub to: Place<'a>,
}

fields!(Rename<'a> { from, to });
request!(Rename<'_>, Rename => Renamed, Renamed);

/// What became of both directories, whether it was done or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Renamed {
    /// The directory of the old name.
    pub from: WeakCacheData,
    /// The directory of the new name.
    pub to: WeakCacheData,
}

fields!(Renamed { from, to });

/// LINK: gives a file one more name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link<'a> {
    /// The file.
    pub file: FileHandle,
    /// The new name.
    pub place: Place<'a>,
}

fields!(Link<'a> { file, place });
request!(Link<'_>, Link => Linked, Linked);

/// What became of the file and the directory, whether it was done or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Linked {
    /// The file's attributes.
    pub attributes: Option<Attributes>,
    /// The directory.
    pub directory: WeakCacheData,
}

fields!(Linked {
    attributes,
    directory
});
