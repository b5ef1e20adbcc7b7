//! What the application does: it copies one file, from the server or to it, piece by piece like cp(1).

use std::sync::Arc;

use bytes::Bytes as Content;
use files::{Answer, Entry, OpenFile, Operation, Reply, Request, Ticket};
use nfs::{FileHandle, NewAttributes};
use rpc::message::{Credentials, Identity, SystemCredentials};
use serde::Deserialize;

/// What every file holds from `offset` on: bytes that tell where they belong.
pub(super) fn content(offset: u64, length: u64) -> Vec<u8> {
    let bytes = (offset..offset + length).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8);
    bytes.collect()
}

/// Which way the file goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// From the server to the client's disk.
    Read,
    /// From the client's disk to the server, until it is safe there.
    Write,
}

/// What is copied.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) way: Way,
    /// The file's length, in bytes.
    pub(crate) length: u64,
    /// What the application moves at once, in bytes.
    pub(crate) piece: u32,
    /// Where the file is, or is to be.
    pub(crate) directory: FileHandle,
    /// What it is called there.
    pub(crate) name: String,
}

/// What the application waits for.
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
    /// Bytes that were moved.
    moved: u64,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    /// This is asked of the client.
    Ask(Box<Request>),
    /// The file is copied.
    Copied,
    /// The copy failed; the sentence says why.
    Failed(String),
}

impl Copy {
    /// An application that will copy; `host` is where it runs.
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

    /// Bytes that were moved so far.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// The first thing that it asks for.
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

    /// Takes the answer to what it asked last.
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

    /// Bytes of the next piece.
    fn piece(&self) -> u64 {
        u64::from(self.plan.piece).min(self.plan.length - self.moved)
    }

    /// `count` bytes more were moved: the next piece, or what follows the last one.
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
