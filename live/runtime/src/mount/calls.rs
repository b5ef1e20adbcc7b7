//! Requests of the kernel that are under way.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use edges::fuse::{Answer, Node, RequestId};
use files::{Operation as Wanted, Reply, Ticket};
use nfs::FileHandle;
use rpc::message::Credentials;
use rustix::io::Errno;

use super::errno::{errno_of, is_servers_fault};
use super::file_system::FileSystem;
use super::service::FileService;
use crate::files::CallError;
use crate::lock;

/// A request of the kernel.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// How to answer it.
    pub(super) id: RequestId,
    /// Who waits.
    pub(super) process: u32,
    /// What it is about, for the kernel and for the server.
    pub(super) node: Node,
    pub(super) file: FileHandle,
    /// In whose name.
    pub(super) credentials: Arc<Credentials>,
}

/// What is known of a call while it waits.
#[derive(Debug)]
struct Pending {
    process: u32,
    since: Instant,
    /// What the client of files was asked last.
    ticket: Option<Ticket>,
    /// Nobody wants it any more.
    given_up: bool,
}

/// All calls that wait.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<RequestId, Pending>);

impl Calls {
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn oldest(&self) -> Option<Instant> {
        self.0.values().map(|pending| pending.since).min()
    }

    /// Which process waits for a call; none if it was answered.
    pub(super) fn process(&self, id: RequestId) -> Option<u32> {
        self.0.get(&id).map(|pending| pending.process)
    }

    /// Nobody wants the call any more; what was asked for it is to be cancelled.
    pub(super) fn give_up(&mut self, id: RequestId) -> Option<Ticket> {
        let pending = self.0.get_mut(&id)?;
        pending.given_up = true;
        pending.ticket
    }

    /// A call asks for something; false if nobody wants it any more.
    fn asks(&mut self, call: &Call) -> bool {
        let pending = self.0.entry(call.id).or_insert_with(|| Pending {
            process: call.process,
            since: Instant::now(),
            ticket: None,
            given_up: false,
        });
        !pending.given_up
    }

    /// What the call asked for has this ticket. It may have gone on to ask for the next thing meanwhile, which has a
    /// larger one.
    fn asked(&mut self, id: RequestId, ticket: Ticket) {
        if let Some(pending) = self.0.get_mut(&id) {
            pending.ticket = pending.ticket.max(Some(ticket));
        }
    }
}

impl<S: FileService> FileSystem<S> {
    /// Asks for something that the call needs, and goes on with the reply. An error is the call's answer.
    pub(super) fn ask(
        self: &Arc<Self>,
        call: Call,
        wanted: Wanted,
        then: impl FnOnce(&Arc<Self>, Call, Reply) + Send + 'static,
    ) {
        self.ask_and_see(call, wanted, |system, call, result| match result {
            Ok(reply) => then(system, call, reply),
            Err(error) => system.fail(&call, &error),
        });
    }

    /// The same for a call that has something to do after an error, too.
    pub(super) fn ask_and_see(
        self: &Arc<Self>,
        call: Call,
        wanted: Wanted,
        then: impl FnOnce(&Arc<Self>, Call, Result<Reply, CallError>) + Send + 'static,
    ) {
        if !lock(&self.calls).asks(&call) {
            return then(self, call, Err(CallError::Cancelled));
        }
        let (id, credentials) = (call.id, Arc::clone(&call.credentials));
        let system = Arc::clone(self);
        let ticket = self.service.submit(&credentials, wanted, move |result| {
            then(&system, call, result);
        });
        lock(&self.calls).asked(id, ticket);
    }

    /// Answers a call; false if the kernel does not wait for it any more.
    pub(super) fn answer_taken(&self, call: &Call, answer: &Answer) -> bool {
        lock(&self.calls).0.remove(&call.id);
        self.kernel.answer(call.id, answer)
    }

    /// Answers a call with what hands nothing over.
    pub(super) fn answer(&self, call: &Call, answer: &Answer) {
        self.answer_taken(call, answer);
    }

    /// Answers a call that failed.
    pub(super) fn fail(&self, call: &Call, error: &CallError) {
        if is_servers_fault(error) {
            self.log(error);
        }
        self.refuse(call, errno_of(error));
    }

    /// Answers a call that is not done.
    pub(super) fn refuse(&self, call: &Call, reason: Errno) {
        self.answer(call, &Answer::Error(reason));
    }

    /// The client of files broke its word.
    pub(super) fn unexpected(&self, call: &Call) {
        self.log(&"a reply to another question");
        self.refuse(call, Errno::IO);
    }
}
