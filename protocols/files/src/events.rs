//! What a client of files is told and what it asks for.

use std::sync::Arc;

use bytes::Bytes;
use nfs::{
    Attributes, BadName, CookieVerifier, Device, FileHandle, FileType, Name, NewAttributes, Space,
};
use rpc::LinkEvent;
use rpc::message::Credentials;
use units::{Duration, Instant};

use crate::Error;

pub use rpc::Ticket;

/// Names a file that is open, from [`Reply::Opened`] until [`Operation::Close`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenFile(pub u64);

/// A name in a directory, with bytes of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    directory: FileHandle,
    name: Bytes,
}

impl Entry {
    /// The entry `name` of `directory`.
    ///
    /// # Errors
    /// [`BadName`] says why it is no name.
    pub fn new(directory: FileHandle, name: &[u8]) -> Result<Self, BadName> {
        Name::new(name)?;
        Ok(Self {
            directory,
            name: Bytes::copy_from_slice(name),
        })
    }

    /// The directory.
    pub fn directory(&self) -> FileHandle {
        self.directory
    }

    /// The name.
    pub fn name(&self) -> Name<'_> {
        Name::new(&self.name).expect("checked when the entry was made")
    }
}

/// What the user of a client wants done, and in whose name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// How the user will know the answer; no other request may have it until this one has ended.
    pub ticket: Ticket,
    /// Who asks. Data that are written behind go out in the name of who opened the file.
    pub caller: Arc<Credentials>,
    /// What is wanted.
    pub operation: Operation,
}

/// What can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Finds a name: [`Reply::Found`].
    LookUp(Entry),
    /// What is known of a file: [`Reply::Attributes`].
    Attributes(FileHandle),
    /// Sets attributes: [`Reply::Attributes`]. To cut a file waits for what is being written beyond the cut.
    SetAttributes {
        /// The file.
        file: FileHandle,
        /// What it shall have.
        attributes: NewAttributes,
    },
    /// Where a symbolic link leads: [`Reply::Target`].
    ReadLink(FileHandle),
    /// Names in a directory, from a place on: [`Reply::Page`].
    List {
        /// The directory.
        directory: FileHandle,
        /// Where to go on; [`ListPlace::START`] at first.
        from: ListPlace,
    },
    /// Makes a directory: [`Reply::Found`].
    MakeDirectory {
        /// Its place.
        entry: Entry,
        /// What it shall have.
        attributes: NewAttributes,
    },
    /// Makes a symbolic link: [`Reply::Found`].
    MakeSymbolicLink {
        /// Its place.
        entry: Entry,
        /// Where it leads, 1 to 4,095 bytes without a zero.
        target: Bytes,
        /// What it shall have.
        attributes: NewAttributes,
    },
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
    },
    /// One more name for a file: [`Reply::Found`].
    Link {
        /// The file.
        file: FileHandle,
        /// The new name.
        entry: Entry,
    },
    /// Removes a name of something that is no directory: [`Reply::Done`]. A file that is open goes when it is closed.
    Remove(Entry),
    /// Removes a directory: [`Reply::Done`].
    RemoveDirectory(Entry),
    /// Moves a name, in place of what has the new one: [`Reply::Done`]. What was written to the file is safe before.
    Rename {
        /// The name it has.
        from: Entry,
        /// The name it shall have.
        to: Entry,
    },
    /// How full the file system is: [`Reply::Space`].
    Space(FileHandle),
    /// Opens a file, after a look whether it has changed: [`Reply::Opened`].
    Open(FileHandle),
    /// Makes a regular file and opens it: [`Reply::Opened`].
    Create {
        /// Its place.
        entry: Entry,
        /// What it shall have.
        attributes: NewAttributes,
        /// Whether it is an error if there is one.
        exclusive: bool,
    },
    /// Reads: [`Reply::Data`]. Fewer bytes only at the end of the file.
    Read {
        /// The file.
        open: OpenFile,
        /// Where to begin, in bytes.
        offset: u64,
        /// How many bytes.
        count: u32,
    },
    /// Writes: [`Reply::Done`] once the client has the data, which waits while it has too many already.
    Write {
        /// The file.
        open: OpenFile,
        /// Where to begin, in bytes.
        offset: u64,
        /// What to write.
        data: Bytes,
    },
    /// Waits until all that was written is on the server's disk: [`Reply::Done`]. An error of an earlier write is told
    /// here, once to each opening of the file.
    Flush(OpenFile),
    /// Closes: [`Reply::Done`]. What was not flushed is written all the same, but no error is told.
    Close(OpenFile),
    /// Writes all files' data and waits until they are on the server's disk: [`Reply::Done`].
    Sync,
}

/// Where a listing goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPlace {
    /// The server's name of the place.
    pub cookie: u64,
    /// By which the server knows whether it still knows that place.
    pub verifier: CookieVerifier,
}

impl ListPlace {
    /// The first entry.
    pub const START: Self = Self {
        cookie: 0,
        verifier: CookieVerifier([0; 8]),
    };
}

/// A file that was found or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// What the server calls it.
    pub file: FileHandle,
    /// What is known of it.
    pub attributes: Attributes,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name: `.` and `..` among them, if the server lists them.
    pub name: Bytes,
    /// The file's number in its file system.
    pub file_id: u64,
    /// Where the listing goes on behind it.
    pub next: ListPlace,
    /// The file, if the server told.
    pub found: Option<Found>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It is done.
    Done,
    /// A file.
    Found(Found),
    /// What is known of the file.
    Attributes(Attributes),
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
    Space(Space),
    /// The file is open.
    Opened(OpenFile, Found),
    /// What was read, one piece behind the other.
    Data(Vec<Bytes>),
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which request.
    pub ticket: Ticket,
    /// What came of it.
    pub result: Result<Reply, Error>,
}

/// What the world can tell a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Do this.
    Request(Request),
    /// Nobody waits for this any more: there will be no answer. The server may have done it, or do it yet; what was
    /// written stays to be written.
    Cancel(Ticket),
    /// A datagram of the server, or the next bytes of the stream.
    Received(Bytes),
    /// There is a stream to the server, a new one.
    Connected,
    /// There is none any more. The driver goes on trying to open one.
    Disconnected,
    /// The hop has news.
    Link(LinkEvent),
}

/// What a client asks of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this to the server: one datagram, or the next bytes of the stream.
    Send(Bytes),
    /// A request has ended.
    Answer(Answer),
    /// The server has not answered since then, and calls wait for it. Said once.
    Silent {
        /// When it was heard last, or the first of these calls was made.
        since: Instant,
    },
    /// A server that was said to be silent answers again, after so long.
    Answering {
        /// How long it was silent.
        after: Duration,
    },
    /// The stream is of no more use: close it and open a new one.
    Reconnect,
}
