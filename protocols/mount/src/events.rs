//! The inputs and outputs of the core.

use files::Ticket;
use nfs::BadName;
use nfs::checks::Implausible;

use crate::{Answer, Node, Request, RequestId};

/// An input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A request of the kernel.
    Request(Request),
    /// Supplementary groups of a process: the reply to [`Output::ReadGroups`].
    Groups {
        /// Request that waits for them.
        request: RequestId,
        /// Group IDs; none if the process is not visible.
        groups: Vec<u32>,
    },
    /// Pending signals of a process: the reply to [`Output::ReadSignals`].
    Signals {
        /// Interrupt request.
        interrupt: RequestId,
        /// Request that was interrupted.
        waiting: RequestId,
        /// True if one of them shall end the process or its operation.
        wants_to_end: bool,
    },
    /// The kernel did not accept this answer: its references and open files do not count.
    NotTaken(Answer),
    /// A request to the file client has ended.
    Files(files::Answer),
    /// The file client has ended: waiting requests fail with `ESHUTDOWN`.
    Closed,
}

/// An effect that the driver carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Answer a request of the kernel. If the kernel does not accept it, report [`Input::NotTaken`].
    Answer(RequestId, Answer),
    /// Make the kernel read a file's attributes again before it uses them.
    ForgetAttributes(Node),
    /// Read the supplementary groups of the process that waits for a request ([`Input::Groups`]).
    ReadGroups {
        /// Request that waits for them.
        request: RequestId,
        /// Process.
        process: u32,
    },
    /// Read the pending signals of a process ([`Input::Signals`]).
    ReadSignals {
        /// Interrupt request.
        interrupt: RequestId,
        /// Request that was interrupted.
        waiting: RequestId,
        /// Process.
        process: u32,
    },
    /// Submit a request to the file client. Tickets begin at 2⁶³, so that other users of the same client may count
    /// from 0.
    Files(files::Request),
    /// Cancel a request to the file client.
    Cancel(Ticket),
    /// Log the reason why a program got an input/output error, or does not see a name. At most one a second.
    Log(Fault),
}

/// A recording of a run.
pub type Tape = machine::Tape<Input, Output>;

/// A fault of the server that no error number describes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// An operation failed.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// A file has invalid attributes.
    #[error(transparent)]
    Attributes(#[from] Implausible),
    /// A name in a listing is invalid.
    #[error("a name that the server lists is left out: {0}")]
    Name(BadName),
}
