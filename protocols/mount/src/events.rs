//! Events of the core, and what it asks of its driver.

use files::Ticket;
use nfs::BadName;
use nfs::checks::Implausible;

use crate::{Answer, Node, Request, RequestId};

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A request of the kernel.
    Request(Request),
    /// The supplementary groups of the process that waits for a request: the reply to [`Output::ReadGroups`].
    Groups {
        /// The request.
        request: RequestId,
        /// The groups; none if the process cannot be seen.
        groups: Vec<u32>,
    },
    /// The reply to [`Output::ReadSignals`].
    Signals {
        /// The interrupt.
        interrupt: RequestId,
        /// The request that was interrupted.
        waiting: RequestId,
        /// A signal that is meant to end the process, or what it does, waits for it.
        wants_to_end: bool,
    },
    /// The kernel did not take this answer: the references and open files in it are not the kernel's.
    NotTaken(Answer),
    /// A request to the client of files has ended.
    Files(files::Answer),
    /// There is no client of files any more: what waits fails with `ESHUTDOWN`.
    Closed,
}

/// An effect that the driver carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Answer a request of the kernel. If the kernel does not take it, say so ([`Input::NotTaken`]).
    Answer(RequestId, Answer),
    /// Make the kernel ask for a file's attributes before it uses them again.
    ForgetAttributes(Node),
    /// Read the supplementary groups of the process that waits for a request ([`Input::Groups`]).
    ReadGroups {
        /// The request.
        request: RequestId,
        /// The process.
        process: u32,
    },
    /// Read the signals that wait for a process ([`Input::Signals`]).
    ReadSignals {
        /// The interrupt.
        interrupt: RequestId,
        /// The request that was interrupted.
        waiting: RequestId,
        /// The process.
        process: u32,
    },
    /// Ask the client of files. Tickets begin at 2⁶³, so that other users of the same client may count from 0.
    Files(files::Request),
    /// Cancel a request to the client of files.
    Cancel(Ticket),
    /// Log why a program got an input/output error, or misses a name. At most one a second.
    Log(Fault),
}

/// A recorded run.
pub type Tape = machine::Tape<Input, Output>;

/// A fault of the server that a program cannot be given as an error number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// An operation failed.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// Attributes that no file can have.
    #[error(transparent)]
    Attributes(#[from] Implausible),
    /// A name in a listing.
    #[error("a name that the server lists is left out: {0}")]
    Name(BadName),
}
