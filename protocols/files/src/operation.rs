//! The operations of a client, and their replies.

use bytes::Bytes;
use nfs::{Device, FileHandle, FileType, NewAttributes};

use crate::{Entry, Error, Found, ListPlace, Listed, OpenFile};

/// An operation whose type determines the type of its reply: one of the module [`ask`], or any [`Operation`].
pub trait Ask: Into<Operation> {
    /// Type of the reply.
    type Reply: FromReply + Send + 'static;
}

/// A type that a reply contains.
pub trait FromReply: Sized {
    /// Extracts the value from a reply.
    ///
    /// # Errors
    /// Returns [`Error::OtherReply`] if the reply is to another kind of operation.
    fn from_reply(reply: Reply) -> Result<Self, Error>;
}

impl Ask for Operation {
    type Reply = Reply;
}

impl FromReply for Reply {
    fn from_reply(reply: Reply) -> Result<Self, Error> {
        Ok(reply)
    }
}

/// Declares an operation as a type of its own.
macro_rules! operation {
    ($(#[$doc:meta])* $name:ident => $reply:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name;
        operation!(@reply $name => $reply,);
    };
    ($(#[$doc:meta])* $name:ident ($content:ty) => $reply:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(pub $content);
        operation!(@reply $name => $reply, (content));
    };
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $content:ty,)+ } => $reply:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $($(#[$about])* pub $field: $content,)+ }
        operation!(@reply $name => $reply, { $($field),+ });
    };
    (@reply $name:ident => $reply:ty, $($fields:tt)?) => {
        impl Ask for $name {
            type Reply = $reply;
        }
        impl From<$name> for Operation {
            fn from($name $($fields)?: $name) -> Self {
                Self::$name $($fields)?
            }
        }
    };
}

/// Declares [`Operation`], and each operation as a type of its own with its reply.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $name:ident $(($content:ty))? $({ $($(#[$about:meta])* $field:ident: $kind:ty,)+ })? => $reply:ty;
    )+) => {
        /// An operation on files.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Operation {
            $($(#[$doc])* $name $(($content))? $({ $($(#[$about])* $field: $kind,)+ })?,)+
        }

        impl Operation {
            /// Returns true if the reply is of the kind that the operation has.
            pub(crate) fn fits(&self, reply: &Reply) -> bool {
                match self {
                    $(Self::$name { .. } => <$reply>::from_reply(reply.clone()).is_ok(),)+
                }
            }
        }

        /// Operations as types of their own, each with its reply.
        pub mod ask {
            use super::*;

            $(operation! {
                $(#[$doc])*
                $name $(($content))? $({ $($(#[$about])* $field: $kind,)+ })? => $reply
            })+
        }
    };
}

operations! {
    /// Finds a name: [`Reply::Found`].
    LookUp(Entry) => Found;
    /// Returns the attributes of a file: [`Reply::Attributes`].
    Attributes(FileHandle) => nfs::Attributes;
    /// Sets attributes: [`Reply::Attributes`]. A truncation waits for writes in flight beyond the new end.
    SetAttributes {
        /// The file.
        file: FileHandle,
        /// The attributes to set.
        attributes: NewAttributes,
    } => nfs::Attributes;
    /// Returns the target of a symbolic link: [`Reply::Target`].
    ReadLink(FileHandle) => Bytes;
    /// Lists names of a directory, from a place on: [`Reply::Page`].
    List {
        /// The directory.
        directory: FileHandle,
        /// The place; [`ListPlace::START`] at first.
        from: ListPlace,
    } => Page;
    /// Makes a directory: [`Reply::Found`].
    MakeDirectory {
        /// Directory and name of the new file.
        entry: Entry,
        /// Its attributes.
        attributes: NewAttributes,
    } => Found;
    /// Makes a symbolic link: [`Reply::Found`].
    MakeSymbolicLink {
        /// Directory and name of the new file.
        entry: Entry,
        /// Target of the link, 1 to 4,095 bytes without a zero.
        target: Bytes,
        /// Its attributes.
        attributes: NewAttributes,
    } => Found;
    /// Makes a device, a socket or a pipe: [`Reply::Found`].
    MakeNode {
        /// Directory and name of the new file.
        entry: Entry,
        /// Its type: one of these.
        kind: FileType,
        /// Numbers of the device, if it is one.
        device: Device,
        /// Its attributes.
        attributes: NewAttributes,
    } => Found;
    /// Adds a name to a file: [`Reply::Found`].
    Link {
        /// The file.
        file: FileHandle,
        /// The new name.
        entry: Entry,
    } => Found;
    /// Removes a name of a file that is not a directory: [`Reply::Done`]. An open file is removed when it is closed.
    Remove(Entry) => ();
    /// Removes a directory: [`Reply::Done`].
    RemoveDirectory(Entry) => ();
    /// Renames a file, and replaces a file with the new name: [`Reply::Done`]. Data written to the file are made safe
    /// first.
    Rename {
        /// The present name.
        from: Entry,
        /// The new name.
        to: Entry,
    } => ();
    /// Returns the space of the file system: [`Reply::Space`].
    Space(FileHandle) => nfs::Space;
    /// Opens a file, after a check for changes at the server: [`Reply::Opened`].
    Open(FileHandle) => (OpenFile, Found);
    /// Creates a regular file and opens it: [`Reply::Opened`].
    Create {
        /// Directory and name of the new file.
        entry: Entry,
        /// Its attributes.
        attributes: NewAttributes,
        /// True if an existing file is an error.
        exclusive: bool,
    } => (OpenFile, Found);
    /// Reads: [`Reply::Data`]. Returns fewer bytes only at the end of the file.
    Read {
        /// The file.
        open: OpenFile,
        /// Offset in bytes.
        offset: u64,
        /// Number of bytes.
        count: u32,
    } => Vec<Bytes>;
    /// Writes: [`Reply::Done`] once the client has the data. The request waits while the client holds too many.
    Write {
        /// The file.
        open: OpenFile,
        /// Offset in bytes.
        offset: u64,
        /// The bytes to write.
        data: Bytes,
    } => ();
    /// Waits until all that was written is on the server's disk: [`Reply::Done`]. An error of an earlier write is
    /// reported here, once to each opening of the file.
    Flush(OpenFile) => ();
    /// Closes: [`Reply::Done`]. Data that were not flushed are still written, but no error is reported.
    Close(OpenFile) => ();
    /// Writes the data of all files and waits until they are on the server's disk: [`Reply::Done`].
    Sync => ();
}

/// Names of a directory. It may be empty although the listing continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The names, in the server's order.
    pub entries: Vec<Listed>,
    /// The place where the listing continues; `None` at its end.
    pub next: Option<ListPlace>,
}

/// Reply to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Success without a value.
    Done,
    /// A file.
    Found(Found),
    /// Attributes of the file.
    Attributes(nfs::Attributes),
    /// Target of a symbolic link.
    Target(Bytes),
    /// Names. There may be none although the listing continues.
    Page {
        /// The names, in the server's order.
        entries: Vec<Listed>,
        /// The place where the listing continues; `None` at its end.
        next: Option<ListPlace>,
    },
    /// Space of the file system.
    Space(nfs::Space),
    /// The open file.
    Opened(OpenFile, Found),
    /// The bytes read, in pieces.
    Data(Vec<Bytes>),
}

/// Implements [`FromReply`] for the value of each kind of reply.
macro_rules! replies {
    ($($pattern:pat => $value:expr, $type:ty;)+) => {$(
        impl FromReply for $type {
            fn from_reply(reply: Reply) -> Result<Self, Error> {
                match reply {
                    $pattern => Ok($value),
                    _ => Err(Error::OtherReply),
                }
            }
        }
    )+};
}

replies! {
    Reply::Done => (), ();
    Reply::Found(found) => found, Found;
    Reply::Attributes(attributes) => attributes, nfs::Attributes;
    Reply::Target(target) => target, Bytes;
    Reply::Page { entries, next } => Page { entries, next }, Page;
    Reply::Space(space) => space, nfs::Space;
    Reply::Opened(open, found) => (open, found), (OpenFile, Found);
    Reply::Data(pieces) => pieces, Vec<Bytes>;
}
