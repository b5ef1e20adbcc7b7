//! The application: it copies one file, from the server or to it, piece by piece like cp(1).

use std::sync::Arc;

use bytes::Bytes as Content;
use files::{Answer, Entry, OpenFile, Operation, Reply, Request, Ticket};
use nfs::{FileHandle, NewAttributes};
use rpc::message::{Credentials, Identity, SystemCredentials};
use serde::Deserialize;

/// Returns the content of every file from `offset` on: bytes that depend on their offset.
pub(super) fn content(offset: u64, length: u64) -> Vec<u8> {
    let end = offset + length;
    let mut bytes = Vec::with_capacity(length as usize);
    let mut at = offset;
    // Of 256 bytes only the lowest part of the offset differs; there is much content in many runs.
    while at < end {
        let next = ((at | 0xff) + 1).min(end);
        let high = ((at >> 8) ^ (at >> 16)) as u8;
        bytes.extend((at..next).map(|at| at as u8 ^ high));
        at = next;
    }
    bytes
}

/// Direction in which a file is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// From the server to the client's disk.
    Read,
    /// From the client's disk to the server, until it is on stable storage there.
    Write,
}

/// The file to copy.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) way: Way,
    /// Length of the file, in bytes.
    pub(crate) length: u64,
    /// Bytes that the application reads or writes at once.
    pub(crate) piece: u32,
    /// Directory of the file on the server.
    pub(crate) directory: FileHandle,
    /// Name of the file there.
    pub(crate) name: String,
}

/// The reply for which the application waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Find,
    Open,
    Move(OpenFile),
    Flush(OpenFile),
    Close,
    Done,
}

/// The application.
#[derive(Debug)]
pub(crate) struct Copy {
    plan: Plan,
    caller: Arc<Credentials>,
    step: Step,
    ticket: u64,
    /// Bytes copied so far.
    moved: u64,
}

/// The next step of the application.
#[derive(Debug)]
pub(super) enum Next {
    /// A request to the client.
    Ask(Box<Request>),
    /// The file was copied.
    Copied,
    /// The copy failed; holds the reason as a sentence.
    Failed(String),
}

impl Copy {
    /// Creates an application that will copy; `host` is the name of its host.
    pub(crate) fn new(plan: Plan, host: &str) -> Self {
        let identity = Identity {
            user: 1_000,
            group: 100,
            groups: Vec::new(),
        };
        let caller = SystemCredentials::new(1, host, identity);
        let caller = caller.map_or(Credentials::None, Credentials::System);
        Self {
            plan,
            caller: Arc::new(caller),
            step: Step::Find,
            ticket: 0,
            moved: 0,
        }
    }

    /// Returns the number of bytes copied so far.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// Returns its first request.
    pub(super) fn begin(&mut self) -> Next {
        let entry = match Entry::new(self.plan.directory, self.plan.name.as_bytes()) {
            Ok(entry) => entry,
            Err(error) => return Next::Failed(error.to_string()),
        };
        match self.plan.way {
            Way::Read => self.ask(Operation::LookUp(entry)),
            Way::Write => {
                self.step = Step::Open;
                self.ask(Operation::Create {
                    entry,
                    attributes: NewAttributes::default(),
                    exclusive: false,
                })
            }
        }
    }

    fn ask(&mut self, operation: Operation) -> Next {
        self.ticket += 1;
        Next::Ask(Box::new(Request {
            ticket: Ticket(self.ticket),
            caller: Arc::clone(&self.caller),
            operation,
        }))
    }

    /// Takes the reply to its last request.
    pub(super) fn take(&mut self, answer: Answer) -> Next {
        let reply = match answer.result {
            Ok(reply) => reply,
            Err(error) => return Next::Failed(error.to_string()),
        };
        match (self.step, reply) {
            (Step::Find, Reply::Found(found)) => {
                self.step = Step::Open;
                self.ask(Operation::Open(found.file))
            }
            (Step::Open, Reply::Opened(open, _)) => self.go_on(open, 0),
            (Step::Move(open), Reply::Data(pieces)) => {
                let count = pieces.iter().map(Content::len).sum::<usize>();
                if count == 0 {
                    return Next::Failed("the file is shorter than it was".into());
                }
                if pieces.concat() != content(self.moved, count as u64) {
                    return Next::Failed(format!("what was read at {} is wrong", self.moved));
                }
                self.go_on(open, count as u64)
            }
            (Step::Move(open), Reply::Done) => self.go_on(open, self.piece()),
            (Step::Flush(open), Reply::Done) => {
                self.step = Step::Close;
                self.ask(Operation::Close(open))
            }
            (Step::Close, Reply::Done) => {
                self.step = Step::Done;
                Next::Copied
            }
            (step, reply) => Next::Failed(format!("{reply:?} is no answer to {step:?}")),
        }
    }

    /// Returns the length of the next piece in bytes.
    fn piece(&self) -> u64 {
        u64::from(self.plan.piece).min(self.plan.length - self.moved)
    }

    /// Adds `count` copied bytes; returns the request for the next piece, or the step after the last one.
    fn go_on(&mut self, open: OpenFile, count: u64) -> Next {
        self.moved += count;
        self.step = Step::Move(open);
        let (offset, piece) = (self.moved, self.piece());
        match self.plan.way {
            _ if piece == 0 => {
                self.step = Step::Flush(open);
                self.ask(Operation::Flush(open))
            }
            Way::Read => self.ask(Operation::Read {
                open,
                offset,
                count: piece as u32,
            }),
            Way::Write => self.ask(Operation::Write {
                open,
                offset,
                data: Content::from(content(offset, piece)),
            }),
        }
    }
}
