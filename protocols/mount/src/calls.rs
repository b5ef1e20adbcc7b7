//! The steps of the requests in progress, and their answers.

use std::sync::Arc;

use bytes::Bytes;
use files::{Operation as Wanted, Reply, Ticket};
use rpc::message::Credentials;

use crate::call::{Call, Pending, Step};
use crate::errno::{Failure, is_servers_fault};
use crate::{Answer, Errno, Fault, FileSystem, Output, RequestId};

/// First ticket of requests to the file client.
const FIRST_TICKET: u64 = 1 << 63;

impl FileSystem {
    /// Submits a request that the call needs to the file client; the call continues at `step`.
    pub(crate) fn ask(&mut self, call: Call, operation: Wanted, step: Step) {
        let ticket = self.submit(&call.credentials, operation);
        self.tickets.insert(ticket, call.id);
        self.calls.insert(call.id, Pending { call, ticket, step });
    }

    /// Submits a request to the file client, whose result is ignored unless a call waits for it.
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

    /// Removes a call from those that wait, and continues it.
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

    /// Answers a call with the error of a failure.
    pub(crate) fn fail(&mut self, call: &Call, failure: &Failure) {
        if let Failure::Files(error) = failure
            && is_servers_fault(error)
        {
            self.log(Fault::Files(*error));
        }
        self.refuse(call, failure.errno());
    }

    /// Answers a call with an error.
    pub(crate) fn refuse(&mut self, call: &Call, reason: Errno) {
        self.answer(call, Answer::Error(reason));
    }

    /// Answers a call that got a reply of the wrong kind.
    pub(crate) fn unexpected(&mut self, call: &Call) {
        self.log(Fault::OtherReply);
        self.refuse(call, Errno::IO);
    }
}

fn length(pieces: &[Bytes]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}
