//! The steps of the requests in progress, and their answers.

use std::sync::Arc;

use bytes::Bytes;
use files::{FromReply, Operation as Wanted, Reply, Ticket};
use nfs::Attributes;
use rpc::message::Credentials;

use crate::attributes::room;
use crate::call::{Call, Pending, Step};
use crate::errno::{Failure, is_servers_fault};
use crate::{Answer, Errno, Fault, FileSystem, Output, RequestId};

/// First ticket of requests to the file client.
const FIRST_TICKET: u64 = 1 << 63;

impl FileSystem {
    /// Asks the client of files for something that the call needs; the call goes on at `step`.
    pub(crate) fn ask(&mut self, call: &Call, operation: Wanted, step: Step) {
        let ticket = self.submit(&call.credentials, operation);
        self.tickets.insert(ticket, call.id);
        let call = call.clone();
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
            self.go_on(&call, step, result);
        }
    }

    fn go_on(&mut self, call: &Call, step: Step, result: Result<Reply, Failure>) {
        let ended = match step {
            Step::Entry { looks } => return self.named(call, looks, take(result)),
            Step::Cut(open) => return self.cut(call, open, take(result)),
            Step::List(cursor, part) => return self.listed(call, cursor, part, take(result)),
            Step::Attributes => take(result).map(|found| self.tell_attributes(call, &found)),
            Step::Space => take(result).map(|space| self.answer(call, Answer::Space(room(&space)))),
            Step::Target => take(result).map(|to| self.answer(call, Answer::Data(vec![to]))),
            Step::Open(flags) => {
                take(result).map(|(open, found)| self.opened(call, flags, open, &found))
            }
            Step::Create => take(result).map(|(open, found)| self.created(call, open, &found)),
            Step::Make => take(result).map(|(open, found)| self.made(call, open, &found)),
            Step::Read(count) => match take::<Vec<Bytes>>(result) {
                Ok(pieces) if length(&pieces) > u64::from(count) => {
                    Err(Failure::Files(files::Error::OtherReply))
                }
                read => read.map(|pieces| self.answer(call, Answer::Data(pieces))),
            },
            Step::Append(open, data) => {
                take(result).map(|found: Attributes| self.write_at(call, open, found.size, data))
            }
            Step::Finish(answer) => take(result).map(|()| self.answer(call, answer)),
        };
        if let Err(failure) = ended {
            self.fail(call, &failure);
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
}

/// Takes what a step needs out of the reply.
fn take<R: FromReply>(result: Result<Reply, Failure>) -> Result<R, Failure> {
    R::from_reply(result?).map_err(Failure::Files)
}

fn length(pieces: &[Bytes]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}
