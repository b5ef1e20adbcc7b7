//! The inputs and outputs of a client.

use std::sync::Arc;

use bytes::Bytes;
use nfs::{Attributes, BadName, CookieVerifier, FileHandle, Name};
use rpc::LinkEvent;
use rpc::message::Credentials;
use units::{Duration, Instant};

use crate::{Error, Operation, Reply};

pub use rpc::Ticket;

/// Number of an open file, valid from [`Reply::Opened`] until [`Operation::Close`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenFile(pub u64);

/// A name in a directory; it owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    directory: FileHandle,
    name: Bytes,
}

impl Entry {
    /// Returns the entry `name` of `directory`.
    ///
    /// # Errors
    /// Returns [`BadName`] if the name is invalid.
    pub fn new(directory: FileHandle, name: &[u8]) -> Result<Self, BadName> {
        Name::new(name)?;
        Ok(Self {
            directory,
            name: Bytes::copy_from_slice(name),
        })
    }

    /// Returns the directory.
    pub fn directory(&self) -> FileHandle {
        self.directory
    }

    /// Returns the name.
    pub fn name(&self) -> Name<'_> {
        Name::new(&self.name).expect("checked when the entry was made")
    }
}

/// An operation that the user of a client requests, with its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Identifies the answer; unique among the requests that have not ended.
    pub ticket: Ticket,
    /// Credentials of the caller. Data that are written later are sent with those of the user who opened the file.
    pub caller: Arc<Credentials>,
    /// The requested operation.
    pub operation: Operation,
}

/// A place in a directory listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPlace {
    /// The server's cookie of the place.
    pub cookie: u64,
    /// The verifier by which the server checks that the cookie is still valid.
    pub verifier: CookieVerifier,
}

impl ListPlace {
    /// The place before the first entry.
    pub const START: Self = Self {
        cookie: 0,
        verifier: CookieVerifier([0; 8]),
    };
}

/// A file that was found or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its file handle.
    pub file: FileHandle,
    /// Its attributes.
    pub attributes: Attributes,
}

/// A listed name of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name, including `.` and `..` if the server lists them.
    pub name: Bytes,
    /// The file's number in its file system.
    pub file_id: u64,
    /// The place behind the name.
    pub next: ListPlace,
    /// The file, if the server included it.
    pub found: Option<Found>,
}

/// The end of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Ticket of the request.
    pub ticket: Ticket,
    /// Result of the request.
    pub result: Result<Reply, Error>,
}

/// An input of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Carry out a request.
    Request(Request),
    /// Cancel a request: there will be no answer. The server may have carried it out, or may still; written data stay
    /// to be written.
    Cancel(Ticket),
    /// A datagram from the server, or the next bytes of the stream.
    Received(Bytes),
    /// A new stream to the server is open.
    Connected,
    /// The stream is closed. The driver keeps trying to open a new one.
    Disconnected,
    /// An event of the hop.
    Link(LinkEvent),
}

/// An output of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this to the server: one datagram, or the next bytes of the stream.
    Send(Bytes),
    /// A request has ended.
    Answer(Answer),
    /// The server has been silent while calls wait for it. Reported once.
    Silent {
        /// Time at which the server last replied, or at which the first of these calls was made.
        since: Instant,
    },
    /// A server that was reported silent answers again.
    Answering {
        /// Duration of the silence.
        after: Duration,
    },
    /// The stream is useless: close it and open a new one.
    Reconnect,
}
