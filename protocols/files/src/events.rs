//! What a client of files is told and what it asks for.

use std::sync::Arc;

use bytes::Bytes;
use nfs::{Attributes, BadName, CookieVerifier, FileHandle, Name};
use rpc::LinkEvent;
use rpc::message::Credentials;
use units::{Duration, Instant};

use crate::{Error, Operation, Reply};

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
