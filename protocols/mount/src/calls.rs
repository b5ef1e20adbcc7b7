//! Requests of the kernel that are under way.

use std::sync::Arc;

use bytes::Bytes;
use files::{OpenFile, Operation as Wanted, Reply, Ticket};
use nfs::FileHandle;
use rpc::message::Credentials;
use units::Instant;

use crate::directories::{Cursor, Part};
use crate::errno::{Failure, is_servers_fault};
use crate::{Answer, Errno, Fault, FileSystem, Node, OpenFlags, Output, RequestId};

/// The first ticket of a request to the client of files.
const FIRST_TICKET: u64 = 1 << 63;

/// A request of the kernel.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The number to answer it by.
    pub(crate) id: RequestId,
    /// The process that waits.
    pub(crate) process: u32,
    /// When it came.
    pub(crate) since: Instant,
    /// The file, as the kernel and as the server name it.
    pub(crate) node: Node,
    pub(crate) file: FileHandle,
    /// In whose name the server is asked.
    pub(crate) credentials: Arc<Credentials>,
}

/// The step that a call goes on with when its request to the client of files has ended.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Gives the attributes.
    Attributes,
    /// Gives the room.
    Space,
    /// Gives what a name leads to, or that it is done. A look-up may find nothing.
    Name { looks: bool },
    /// Goes on with the open file: it may have to be cut.
    Open(OpenFlags),
    /// Gives the open file once it is cut.
    Cut(OpenFile),
    /// Gives the new open file.
    Create,
    /// Gives the data, at most so many bytes.
    Read(u32),
    /// Writes at the end of the file.
    Append(OpenFile, Bytes),
    /// Gives the number of bytes written.
    Write(u32),
    /// Says that it is done.
    Flush,
    /// Fills the listing with the next page.
    List(Cursor, Part),
}

/// A call that waits for the client of files.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) call: Call,
    pub(crate) ticket: Ticket,
    step: Step,
}

impl FileSystem {
    /// Asks the client of files for something that the call needs; the call goes on at `step`.
    pub(crate) fn ask(&mut self, call: Call, operation: Wanted, step: Step) {
        let ticket = self.submit(&call.credentials, operation);
        self.tickets.insert(ticket, call.id);
        self.calls.insert(call.id, Pending { call, ticket, step });
    }

    /// Asks the client of files for something, whatever comes of it.
    pub(crate) fn submit(&mut self, caller: &Arc<Credentials>, operation: Wanted) -> Ticket {
        let ticket = Ticket(FIRST_TICKET + self.tickets_made);
        self.tickets_made += 1;
        self.outputs.push_back(Output::Files(files::Request {
            ticket,
            caller: Arc::clone(caller),
            operation,
        }));
        ticket
    }

    /// Takes a call out of those that wait, and goes on with it.
    pub(crate) fn end_wait(&mut self, id: RequestId, result: Result<Reply, Failure>) {
        if let Some(Pending { call, ticket, step }) = self.calls.remove(&id) {
            self.tickets.remove(&ticket);
            self.go_on(call, step, result);
        }
    }

    fn go_on(&mut self, call: Call, step: Step, result: Result<Reply, Failure>) {
        match (step, result) {
            (Step::Name { looks }, result) => self.named(&call, looks, result),
            (Step::Cut(open), result) => self.cut(&call, open, &result),
            (Step::List(cursor, part), result) => self.listed(call, cursor, part, result),
            (_, Err(failure)) => self.fail(&call, &failure),
            (Step::Attributes, Ok(Reply::Attributes(attributes))) => {
                self.tell_attributes(&call, &attributes);
            }
            (Step::Space, Ok(Reply::Space(space))) => {
                self.answer(&call, Answer::Space(crate::attributes::room(&space)));
            }
            (Step::Open(flags), Ok(Reply::Opened(open, found))) => {
                self.opened(call, flags, open, &found);
            }
            (Step::Create, Ok(Reply::Opened(open, found))) => self.created(&call, open, &found),
            (Step::Read(count), Ok(Reply::Data(pieces))) if length(&pieces) <= u64::from(count) => {
                self.answer(&call, Answer::Data(pieces));
            }
            (Step::Append(open, data), Ok(Reply::Attributes(attributes))) => {
                self.write_at(call, open, attributes.size, data);
            }
            (Step::Write(written), Ok(Reply::Done)) => {
                self.answer(&call, Answer::Written(written));
            }
            (Step::Flush, Ok(Reply::Done)) => self.answer(&call, Answer::Done),
            (
                Step::Attributes
                | Step::Space
                | Step::Open(_)
                | Step::Create
                | Step::Read(_)
                | Step::Append(..)
                | Step::Write(_)
                | Step::Flush,
                Ok(_),
            ) => self.unexpected(&call),
        }
    }

    /// Answers a call.
    pub(crate) fn answer(&mut self, call: &Call, answer: Answer) {
        self.outputs.push_back(Output::Answer(call.id, answer));
    }

    /// Answers a call that failed.
    pub(crate) fn fail(&mut self, call: &Call, failure: &Failure) {
        if let Failure::Files(error) = failure
            && is_servers_fault(error)
        {
            self.log(Fault::Files(*error));
        }
        self.refuse(call, failure.errno());
    }

    /// Answers a call that is not done.
    pub(crate) fn refuse(&mut self, call: &Call, reason: Errno) {
        self.answer(call, Answer::Error(reason));
    }

    /// Answers a call whose reply is one to another question.
    pub(crate) fn unexpected(&mut self, call: &Call) {
        self.log(Fault::OtherReply);
        self.refuse(call, Errno::IO);
    }
}

fn length(pieces: &[Bytes]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}
