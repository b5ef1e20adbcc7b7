//! The handle of a connection, for any number of threads.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use edges::clock;
use edges::wait::{WaitingThread, Waker};
use files::{Ask, FromReply, Reply, Request, Ticket};
use rpc::LinkEvent;
use rpc::message::Credentials;

use super::status::Snapshot;
use super::{Event, Status};
use crate::lock;
use crate::mount::{Mount, Mounted, Served};

/// How often whoever waits is asked whether to wait on.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The server or the client of files says why.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// Whoever asked does not wait any more. The server may have done it, or do it yet.
    #[error("interrupted")]
    Cancelled,
    /// The connection was closed before there was a reply.
    #[error("the connection to the server was closed")]
    Closed,
}

impl CallError {
    /// What the server or the client of files says, if that is the reason.
    pub fn files(&self) -> Option<files::Error> {
        match self {
            Self::Files(error) => Some(*error),
            Self::Cancelled | Self::Closed => None,
        }
    }

    /// What the server says, if that is the reason.
    pub fn status(&self) -> Option<nfs::Status> {
        self.files().and_then(|error| error.status())
    }
}

/// Who is told how a request ended.
pub(super) type Done = Box<dyn FnOnce(Result<Reply, CallError>) + Send>;
/// Who is told of events.
pub(super) type Observer = Box<dyn FnMut(Event) + Send>;

/// What the driver shall do.
pub(super) enum Command {
    Request(Box<Request>, Done),
    Cancel(Ticket),
    Link(LinkEvent),
    Observe(Observer),
    Mount(Box<Served>),
}

/// What waits for the driver.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) commands: Vec<Command>,
    /// Nothing is taken any more.
    pub(super) closed: bool,
}

/// What the driver and the handles share.
pub(super) struct Shared {
    pub(super) inbox: Mutex<Inbox>,
    pub(super) snapshot: Mutex<Snapshot>,
}

/// What all handles of a connection share; the last one closes it.
struct Owner {
    shared: Arc<Shared>,
    waker: Waker,
    next_ticket: AtomicU64,
    thread: Mutex<Option<WaitingThread>>,
}

/// A connection to a server of files: a handle, of which there may be many. It is closed with the last.
#[derive(Clone)]
pub struct Connection(Arc<Owner>);

impl Connection {
    pub(super) fn new(shared: Arc<Shared>, waker: Waker, thread: WaitingThread) -> Self {
        Self(Arc::new(Owner {
            shared,
            waker,
            next_ticket: AtomicU64::new(1),
            thread: Mutex::new(Some(thread)),
        }))
    }

    /// Asks for an operation in the name of `caller`. `done` is called once, whatever happens: from the connection's
    /// own thread, so it must not wait, nor [`call`](Self::call); or from this one if the connection is closed.
    pub fn submit<A: Ask>(
        &self,
        caller: &Arc<Credentials>,
        operation: A,
        done: impl FnOnce(Result<A::Reply, CallError>) + Send + 'static,
    ) -> Ticket {
        let done = |result: Result<Reply, CallError>| {
            done(result.and_then(|reply| Ok(A::Reply::from_reply(reply)?)));
        };
        let ticket = Ticket(self.0.next_ticket.fetch_add(1, Ordering::Relaxed));
        let request = Request {
            ticket,
            caller: Arc::clone(caller),
            operation: operation.into(),
        };
        let command = Command::Request(Box::new(request), Box::new(done));
        if let Err(Command::Request(_, done)) = self.send(command) {
            done(Err(CallError::Closed));
        }
        ticket
    }

    /// Ends a request that has not ended yet with [`CallError::Cancelled`]. The server may have done it, or do it yet;
    /// what was written stays to be written.
    pub fn cancel(&self, ticket: Ticket) {
        let _ = self.send(Command::Cancel(ticket));
    }

    /// Does an operation in the name of `caller`, however long it takes. Not to be used from [`submit`](Self::submit)'s
    /// `done` or from observers.
    ///
    /// # Errors
    /// [`CallError`] says why there is no reply.
    pub fn call<A: Ask>(
        &self,
        caller: &Arc<Credentials>,
        operation: A,
    ) -> Result<A::Reply, CallError> {
        self.call_while(caller, operation, &|| true)
    }

    /// The same, as long as `wanted` says so: it is asked every 50 ms.
    ///
    /// # Errors
    /// [`CallError`] says why there is no reply; [`CallError::Cancelled`] if it is not wanted any more.
    pub fn call_while<A: Ask>(
        &self,
        caller: &Arc<Credentials>,
        operation: A,
        wanted: &dyn Fn() -> bool,
    ) -> Result<A::Reply, CallError> {
        let (sender, receiver) = channel();
        let ticket = self.submit(caller, operation, move |result| {
            let _ = sender.send(result);
        });
        self.wait(ticket, &receiver, wanted)
    }

    fn wait<R>(
        &self,
        ticket: Ticket,
        receiver: &Receiver<Result<R, CallError>>,
        wanted: &dyn Fn() -> bool,
    ) -> Result<R, CallError> {
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => return Err(CallError::Closed),
                Err(RecvTimeoutError::Timeout) if wanted() => {}
                Err(RecvTimeoutError::Timeout) => {
                    self.cancel(ticket);
                    return Err(CallError::Cancelled);
                }
            }
        }
    }

    /// Tells the client what the hop reports.
    pub fn link_event(&self, event: LinkEvent) {
        let _ = self.send(Command::Link(event));
    }

    /// Has `observer` told when the server falls silent and answers again, from the connection's own thread.
    pub fn observe(&self, observer: impl FnMut(Event) + Send + 'static) {
        let _ = self.send(Command::Observe(Box::new(observer)));
    }

    /// Shows the server's files to the kernel, from the connection's own thread, until they are unmounted or the
    /// connection is closed.
    ///
    /// # Errors
    /// Of the system; `NotConnected` if the connection is closed.
    pub fn mount(&self, mount: Mount) -> io::Result<Mounted> {
        let mounted = Mounted::default();
        let served = Box::new(Served::new(mount, mounted.clone())?);
        match self.send(Command::Mount(served)) {
            Ok(()) => Ok(mounted),
            Err(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// How the connection does.
    pub fn status(&self) -> Status {
        let snapshot = lock(&self.0.shared.snapshot).clone();
        snapshot.at(clock::monotonic())
    }

    /// Ends the connection: requests that have not ended fail with [`CallError::Closed`], and what was written and not
    /// flushed is lost ([`Sync`](files::ask::Sync) first waits for it). Later requests fail.
    pub fn close(&self) {
        self.0.close();
    }

    /// Gives back what was not taken.
    fn send(&self, command: Command) -> Result<(), Command> {
        let mut inbox = lock(&self.0.shared.inbox);
        if inbox.closed {
            return Err(command);
        }
        let was_empty = inbox.commands.is_empty();
        inbox.commands.push(command);
        drop(inbox);
        if was_empty {
            // It fails only if the descriptor is gone, which lives as long as we do.
            let _ = self.0.waker.wake();
        }
        Ok(())
    }
}

impl Owner {
    fn close(&self) {
        lock(&self.shared.inbox).closed = true;
        // Its end is waited for without the lock: what it calls last may close us too.
        let thread = lock(&self.thread).take();
        drop(thread);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.close();
    }
}
