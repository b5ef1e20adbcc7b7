//! What a mount needs of a client of files.

use std::sync::Arc;

use files::{Operation, Reply, Ticket};
use rpc::message::Credentials;

use crate::files::{CallError, Connection};

/// Files at a server, for any number of threads.
pub trait FileService: Send + Sync + 'static {
    /// Asks for an operation in the name of `caller`. `done` is called once, whatever happens, from any thread.
    fn submit(
        &self,
        caller: &Arc<Credentials>,
        operation: Operation,
        done: impl FnOnce(Result<Reply, CallError>) + Send + 'static,
    ) -> Ticket;

    /// Ends a request that has not ended yet with [`CallError::Cancelled`].
    fn cancel(&self, ticket: Ticket);
}

impl FileService for Connection {
    fn submit(
        &self,
        caller: &Arc<Credentials>,
        operation: Operation,
        done: impl FnOnce(Result<Reply, CallError>) + Send + 'static,
    ) -> Ticket {
        Self::submit(self, caller, operation, done)
    }

    fn cancel(&self, ticket: Ticket) {
        Self::cancel(self, ticket);
    }
}
