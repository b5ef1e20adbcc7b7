//! What can be done, and what comes of it.

use bytes::Bytes;
use nfs::{Device, FileHandle, FileType, NewAttributes};

use crate::{Entry, Error, Found, ListPlace, Listed, OpenFile};

/// An operation of which the type says what its reply is: one of the module [`ask`], or any [`Operation`].
pub trait Ask: Into<Operation> {
    /// What comes of it.
    type Reply: FromReply + Send + 'static;
}

/// What a reply brings.
pub trait FromReply: Sized {
    /// Takes it out of the reply.
    ///
    /// # Errors
    /// [`Error::OtherReply`] if the reply is to another kind of operation.
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
        /// What can be done.
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
    /// What is known of a file: [`Reply::Attributes`].
    Attributes(FileHandle) => nfs::Attributes;
    /// Sets attributes: [`Reply::Attributes`]. To cut a file waits for what is being written beyond the cut.
    SetAttributes {
        /// The file.
        file: FileHandle,
        /// What it shall have.
        attributes: NewAttributes,
    } => nfs::Attributes;
    /// Where a symbolic link leads: [`Reply::Target`].
    ReadLink(FileHandle) => Bytes;
    /// Names in a directory, from a place on: [`Reply::Page`].
    List {
        /// The directory.
        directory: FileHandle,
        /// Where to go on; [`ListPlace::START`] at first.
        from: ListPlace,
    } => Page;
    /// Makes a directory: [`Reply::Found`].
    MakeDirectory {
        /// Its place.
        entry: Entry,
        /// What it shall have.
        attributes: NewAttributes,
    } => Found;
    /// Makes a symbolic link: [`Reply::Found`].
    MakeSymbolicLink {
        /// Its place.
        entry: Entry,
        /// Where it leads, 1 to 4,095 bytes without a zero.
        target: Bytes,
        /// What it shall have.
        attributes: NewAttributes,
    } => Found;
    /// Makes a device, a socket or a pipe: [`Reply::Found`].
    MakeNode {
        /// Its place.
        entry: Entry,
        /// Which of these.
        kind: FileType,
        /// The device's numbers, if it is one.
        device: Device,
        /// What it shall have.
        attributes: NewAttributes,
    } => Found;
    /// One more name for a file: [`Reply::Found`].
    Link {
        /// The file.
        file: FileHandle,
        /// The new name.
        entry: Entry,
    } => Found;
    /// Removes a name of something that is no directory: [`Reply::Done`]. A file that is open goes when it is closed.
    Remove(Entry) => ();
    /// Removes a directory: [`Reply::Done`].
    RemoveDirectory(Entry) => ();
    /// Moves a name, in place of what has the new one: [`Reply::Done`]. What was written to the file is safe before.
    Rename {
        /// The name it has.
        from: Entry,
        /// The name it shall have.
        to: Entry,
    } => ();
    /// How full the file system is: [`Reply::Space`].
    Space(FileHandle) => nfs::Space;
    /// Opens a file, after a look whether it has changed: [`Reply::Opened`].
    Open(FileHandle) => (OpenFile, Found);
    /// Makes a regular file and opens it: [`Reply::Opened`].
    Create {
        /// Its place.
        entry: Entry,
        /// What it shall have.
        attributes: NewAttributes,
        /// Whether it is an error if there is one.
        exclusive: bool,
    } => (OpenFile, Found);
    /// Reads: [`Reply::Data`]. Fewer bytes only at the end of the file.
    Read {
        /// The file.
        open: OpenFile,
        /// Where to begin, in bytes.
        offset: u64,
        /// How many bytes.
        count: u32,
    } => Vec<Bytes>;
    /// Writes: [`Reply::Done`] once the client has the data, which waits while it has too many already.
    Write {
        /// The file.
        open: OpenFile,
        /// Where to begin, in bytes.
        offset: u64,
        /// What to write.
        data: Bytes,
    } => ();
    /// Waits until all that was written is on the server's disk: [`Reply::Done`]. An error of an earlier write is told
    /// here, once to each opening of the file.
    Flush(OpenFile) => ();
    /// Closes: [`Reply::Done`]. What was not flushed is written all the same, but no error is told.
    Close(OpenFile) => ();
    /// Writes all files' data and waits until they are on the server's disk: [`Reply::Done`].
    Sync => ();
}

/// Names of a directory. There may be none of them although the listing goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// In the server's order.
    pub entries: Vec<Listed>,
    /// Where the listing goes on; nothing at its end.
    pub next: Option<ListPlace>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It is done.
    Done,
    /// A file.
    Found(Found),
    /// What is known of the file.
    Attributes(nfs::Attributes),
    /// Where a symbolic link leads.
    Target(Bytes),
    /// Names. There may be none of them although the listing goes on.
    Page {
        /// In the server's order.
        entries: Vec<Listed>,
        /// Where the listing goes on; nothing at its end.
        next: Option<ListPlace>,
    },
    /// How full the file system is.
    Space(nfs::Space),
    /// The file is open.
    Opened(OpenFile, Found),
    /// What was read, one piece behind the other.
    Data(Vec<Bytes>),
}

/// Takes what each kind of reply brings out of it.
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
