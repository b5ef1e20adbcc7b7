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
use crate::mount::{Mount, MountDriver, Mounted};

/// Interval at which a waiting caller checks whether to continue.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Reason why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The server or the client of files returned an error.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// The caller cancelled the request. The server may have executed it, or may do so yet.
    #[error("interrupted")]
    Cancelled,
    /// The connection was closed before the reply.
    #[error("the connection to the server was closed")]
    Closed,
}

impl CallError {
    /// Returns the error of the server or of the client of files, if that is the reason.
    pub fn files(&self) -> Option<files::Error> {
        match self {
            Self::Files(error) => Some(*error),
            Self::Cancelled | Self::Closed => None,
        }
    }

    /// Returns the status from the server, if that is the reason.
    pub fn status(&self) -> Option<nfs::Status> {
        self.files().and_then(|error| error.status())
    }
}

/// Callback for the result of a request.
pub(super) type Done = Box<dyn FnOnce(Result<Reply, CallError>) + Send>;
/// Callback for events.
pub(super) type Observer = Box<dyn FnMut(Event) + Send>;

/// Command for the driver.
pub(super) enum Command {
    Request(Box<Request>, Done),
    Cancel(Ticket),
    Link(LinkEvent),
    Observe(Observer),
    Mount(Box<MountDriver>),
}

/// Commands that wait for the driver.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) commands: Vec<Command>,
    /// True if no further commands are accepted.
    pub(super) closed: bool,
}

/// State shared by the driver and the handles.
pub(super) struct Shared {
    pub(super) inbox: Mutex<Inbox>,
    pub(super) snapshot: Mutex<Snapshot>,
}

/// State shared by all handles of a connection; it closes the connection when the last handle is dropped.
struct Owner {
    shared: Arc<Shared>,
    waker: Waker,
    next_ticket: AtomicU64,
    thread: Mutex<Option<WaitingThread>>,
}

/// A handle of a connection to a file server; it can be cloned. The connection is closed with the last one.
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

    /// Requests an operation with the credentials `caller`. `done` is called exactly once: by the connection's thread,
    /// so it must neither wait nor [`call`](Self::call); or by this thread if the connection is closed.
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

    /// Ends a request that has not ended yet with [`CallError::Cancelled`]. The server may have executed it, or may do
    /// so yet; written data stay to be written.
    pub fn cancel(&self, ticket: Ticket) {
        let _ = self.send(Command::Cancel(ticket));
    }

    /// Executes an operation with the credentials `caller`, without a time limit. Must not be called from
    /// [`submit`](Self::submit)'s `done` or from observers.
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

    /// Executes an operation like [`call`](Self::call), as long as `wanted` returns true: it is called every 50 ms.
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

    /// Notifies the client of an event of the hop.
    pub fn link_event(&self, event: LinkEvent) {
        let _ = self.send(Command::Link(event));
    }

    /// Calls `observer` when the server stops replying and when it replies again, from the connection's own thread.
    pub fn observe(&self, observer: impl FnMut(Event) + Send + 'static) {
        let _ = self.send(Command::Observe(Box::new(observer)));
    }

    /// Serves the server's files to the kernel, from the connection's own thread, until they are unmounted or the
    /// connection is closed.
    ///
    /// # Errors
    /// System errors; `NotConnected` if the connection is closed.
    pub fn mount(&self, mount: Mount) -> io::Result<Mounted> {
        let mounted = Mounted::default();
        let served = Box::new(MountDriver::new(mount, mounted.clone())?);
        match self.send(Command::Mount(served)) {
            Ok(()) => Ok(mounted),
            Err(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Returns the status of the connection.
    pub fn status(&self) -> Status {
        let snapshot = lock(&self.0.shared.snapshot).clone();
        snapshot.at(clock::monotonic())
    }

    /// Ends the connection: requests that have not ended fail with [`CallError::Closed`], and what was written and not
    /// flushed is lost ([`Sync`](files::ask::Sync) first waits for it). Later requests fail.
    pub fn close(&self) {
        self.0.close();
    }

    /// Sends a command to the driver; returns it if the connection is closed.
    fn send(&self, command: Command) -> Result<(), Command> {
        let mut inbox = lock(&self.0.shared.inbox);
        if inbox.closed {
            return Err(command);
        }
        let was_empty = inbox.commands.is_empty();
        inbox.commands.push(command);
        drop(inbox);
        if was_empty {
            // It fails only if the descriptor is gone, which lives as long as this handle.
            let _ = self.0.waker.wake();
        }
        Ok(())
    }
}

impl Owner {
    fn close(&self) {
        lock(&self.shared.inbox).closed = true;
        // The thread is joined without the lock: the last callback that it calls may close this connection too.
        let thread = lock(&self.thread).take();
        drop(thread);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.close();
    }
}
