//! A request of the kernel that is in progress.

use std::sync::Arc;

use bytes::Bytes;
use files::{OpenFile, Ticket};
use nfs::FileHandle;
use rpc::message::Credentials;
use units::Instant;

use crate::directories::{Cursor, Part};
use crate::{Node, OpenFlags, RequestId};

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

/// Step with which a call continues when its request to the file client has ended.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Answers with the attributes.
    Attributes,
    /// Answers with the space.
    Space,
    /// Answers with the entry of a name, or with success. A look-up may find nothing.
    Name { looks: bool },
    /// Continues with the open file, which may have to be truncated.
    Open(OpenFlags),
    /// Answers with the open file after it is truncated.
    Cut(OpenFile),
    /// Answers with the new open file.
    Create,
    /// Answers with the data, at most this many bytes.
    Read(u32),
    /// Writes at the end of the file.
    Append(OpenFile, Bytes),
    /// Answers with the number of bytes written.
    Write(u32),
    /// Answers with success.
    Flush,
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
