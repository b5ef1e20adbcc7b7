//! A request of the kernel that is in progress.

use std::sync::Arc;

use bytes::Bytes;
use files::{OpenFile, Ticket};
use nfs::FileHandle;
use rpc::message::Credentials;
use units::Instant;

use crate::directories::{Cursor, Part};
use crate::{Answer, Node, OpenFlags, RequestId};

/// A request of the kernel.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Identifier for its answer.
    pub(crate) id: RequestId,
    /// Process that waits.
    pub(crate) process: u32,
    /// Time of its arrival.
    pub(crate) since: Instant,
    /// File, by the kernel's node and the server's handle.
    pub(crate) node: Node,
    pub(crate) file: FileHandle,
    /// Credentials for the server.
    pub(crate) credentials: Arc<Credentials>,
}

/// The step that a call goes on with when its request to the client of files has ended. Each takes one kind of reply.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Answers with the attributes.
    Attributes,
    /// Answers with the space.
    Space,
    /// Gives the entry. A look-up may find nothing.
    Entry { looks: bool },
    /// Gives where the link leads.
    Target,
    /// Goes on with the open file: it may have to be cut.
    Open(OpenFlags),
    /// Answers with the open file after it is truncated.
    Cut(OpenFile),
    /// Answers with the new open file.
    Create,
    /// Closes the new file, and gives its entry.
    Make,
    /// Gives the data, at most so many bytes.
    Read(u32),
    /// Writes at the end of the file.
    Append(OpenFile, Bytes),
    /// Gives the answer once it is done.
    Finish(Answer),
    /// Fills the listing with the next page.
    List(Cursor, Part),
}

/// A call that waits for the file client.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) call: Call,
    pub(crate) ticket: Ticket,
    pub(crate) step: Step,
}
