//! The sockets of split connections: they carry out the requests of a [`split::Splitter`] with the kernel's TCP, and
//! connections to servers on a mobile host with packets of their own.

mod connection;
mod former;
mod inward;
mod packets;
mod succession;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use edges::diversion::Destinations;
use edges::parcel::Space;
use edges::transparent::{Asks, TransparentListener, TransparentStream, is_local};
use edges::wait::{Interest, Ready, WOKEN, Waiter};
use redirector::{Chunks, Content};
use rustix::io::Errno;
use split::{
    BindingId, Connect, Refusal, Side, SocketEvent, SocketId, SocketRequest, SystemEvent,
    SystemRequest,
};
use units::{Bytes, Duration};
use wire::flow::Ends;

use crate::succession::Succession;
use connection::{Connection, Stream};
use former::Examination;
use packets::Inwards;
pub(crate) use succession::SocketState;

/// Tokens of descriptors; those of connections follow.
const LISTENER: u64 = 0;
const FIRST_CONNECTION: u64 = 1;

/// Size of data that a socket with nothing pending accepts, in bytes; the part that the kernel does not accept waits
/// beside it.
const ROOM: u64 = 256 << 10;
/// Number of reads in one turn of the loop.
const READS_A_TURN: usize = 4;

/// Installs the diversion of this host's own connections to the listener.
pub type Divert = Box<dyn FnMut() -> io::Result<()> + Send>;

/// Returns the connections from before this process that are still open, with this host's end as the destination.
pub type Former = Box<dyn FnMut() -> Vec<Ends> + Send>;

/// Options of the sockets.
pub struct Options {
    /// Congestion control of the connections across the hop, e.g. `reno`; `None` for the system's.
    pub congestion_control: Option<String>,
    /// At the mobile host: the diversion of its own connections.
    pub divert: Option<Divert>,
    /// At the mobile host: its open connections across the hop from before this process.
    pub former: Option<Former>,
    /// At a gateway: destinations of connections that are split, if not all.
    pub destinations: Option<Destinations>,
    /// Largest size of the splitter's buffers.
    pub memory: Bytes,
    /// At a gateway: space for what the next process gets at the end.
    pub space: Option<Space>,
}

/// The sockets of all split connections, and the listener that accepts those that were let in.
pub struct Sockets {
    options: Options,
    listener: TransparentListener,
    connections: HashMap<SocketId, Connection>,
    /// Accepted streams that have no socket id yet.
    accepted: HashMap<Ends, TransparentStream>,
    /// Connections that were written to since the last [`flush`](Self::flush).
    unflushed: Vec<SocketId>,
    /// Requested reads, in order.
    reads: VecDeque<(SocketId, u64)>,
    waiter: Waiter,
    events: VecDeque<SystemEvent<Chunks>>,
    /// Connections to servers on this host, and their packets.
    inwards: Inwards,
    /// Examination of this host's connections from before this process.
    examination: Examination,
    /// What was taken out for the next process.
    succession: Option<Succession>,
}

impl Sockets {
    /// Returns sockets for connections that arrive at `listener`. Others are opened in the calling thread's network
    /// namespace; those with addresses of other hosts need `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// System errors.
    pub fn new(mut options: Options, listener: TransparentListener) -> io::Result<Self> {
        let waiter = Waiter::new()?;
        waiter.add(&listener, LISTENER, Interest::Changes)?;
        let examination = Examination::new(options.former.take());
        Ok(Self {
            options,
            listener,
            connections: HashMap::new(),
            accepted: HashMap::new(),
            unflushed: Vec::new(),
            reads: VecDeque::new(),
            waiter,
            events: VecDeque::new(),
            inwards: Inwards::default(),
            examination,
            succession: None,
        })
    }

    /// Returns the largest size of buffers, besides those of the kernel.
    pub fn memory(&self) -> Bytes {
        let is_mobile = self.options.divert.is_some();
        let inwards = is_mobile.then(Inwards::memory);
        self.options.memory + inwards.unwrap_or_default()
    }

    /// Sets the destinations of connections that are split from now on, if not all.
    pub fn set_destinations(&mut self, destinations: Option<Destinations>) {
        self.options.destinations = destinations;
    }

    /// Returns the next event for the splitter.
    pub fn poll_event(&mut self) -> Option<SystemEvent<Chunks>> {
        self.events.pop_front()
    }

    /// Returns true if the next [`flush`](Self::flush) has work to do.
    pub fn needs_flush(&self) -> bool {
        !self.unflushed.is_empty() || !self.reads.is_empty()
    }

    /// Carries out a request of the splitter.
    pub fn carry_out(&mut self, request: SystemRequest<Chunks>) {
        match request {
            SystemRequest::Locate { number, address } => {
                let destinations = self.options.destinations.as_ref();
                // What a gateway does not forward crosses as packets, which its rules refuse.
                let is_local =
                    is_local(address) || destinations.is_some_and(|rules| !rules.allow(address));
                let located = SystemEvent::Located { number, is_local };
                self.events.push_back(located);
            }
            SystemRequest::Divert => self.divert(),
            SystemRequest::Adopt(ends, id) => {
                if let Some(socket) = self.accepted.remove(&ends) {
                    self.insert(id, Connection::accepted(socket));
                    self.report(id, SocketEvent::Writable(ROOM));
                }
            }
            SystemRequest::Dismiss(ends) => drop(self.accepted.remove(&ends)),
            SystemRequest::Socket(id, request) => self.ask(id, request),
        }
    }

    fn divert(&mut self) {
        if let Some(Err(error)) = self.options.divert.as_mut().map(|divert| divert()) {
            tracing::error!("TCP is not split here, and goes as packets: {error}");
            self.events.push_back(SystemEvent::NotDiverted);
        }
    }

    fn report(&mut self, id: SocketId, event: SocketEvent<Chunks>) {
        self.events.push_back(SystemEvent::Socket(id, event));
    }

    fn fail(&mut self, id: SocketId, error: &io::Error) {
        self.report(id, SocketEvent::Failed(refusal(error)));
    }

    fn insert(&mut self, id: SocketId, mut connection: Connection) {
        if let Stream::Kernel(socket) = connection.stream() {
            // A connection that cannot be waited for is closed after its idle timeout.
            let _ = self.waiter.add(socket, token_of(id), Interest::Changes);
        }
        self.connections.insert(id, connection);
        self.attend(id, None);
    }

    fn ask(&mut self, id: SocketId, request: SocketRequest<Chunks>) {
        match request {
            SocketRequest::Connect(connect) => match self.connect(id, connect) {
                Ok(stream) => self.insert(id, Connection::connecting(stream)),
                Err(error) => self.fail(id, &error),
            },
            SocketRequest::Read(count) => self.reads.push_back((id, count)),
            SocketRequest::Write(content) => {
                self.change(id, |connection| connection.write(&content));
            }
            SocketRequest::Finish => self.change(id, Connection::finish),
            SocketRequest::Reset => self.reset(id),
            SocketRequest::Release => self.release(id),
        }
    }

    /// Changes a connection with `change`; the next flush writes its data, in one call for many changes.
    fn change(&mut self, id: SocketId, change: impl FnOnce(&mut Connection)) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        change(connection);
        if !std::mem::replace(&mut connection.is_unflushed, true) {
            self.unflushed.push(id);
        }
    }

    fn connect(&mut self, id: SocketId, connect: Connect) -> io::Result<Stream> {
        if let (true, Some(source)) = (self.options.divert.is_some(), connect.source) {
            // At a mobile host, to one of its own servers.
            let ends = Ends {
                source,
                destination: connect.destination,
            };
            return self.connect_inward(ends, id);
        }
        let congestion_control = self.options.congestion_control.as_deref();
        let asks = Asks {
            source: connect.source,
            congestion_control: congestion_control.filter(|_| connect.crosses_hop),
            mark: None,
        };
        TransparentStream::connect(connect.destination, &asks).map(Stream::Kernel)
    }

    fn read(&mut self, id: SocketId, count: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let content = match connection.read(count) {
            Ok(content) => content,
            Err(error) => return self.fail(id, &error),
        };
        let has_ended = connection.has_ended;
        // Its window may have opened.
        self.attend(id, None);
        let is_empty = content.length() == 0;
        // This comes first, so that data that are not there are not requested again.
        if is_empty {
            self.look(id);
        }
        self.report(id, SocketEvent::Data(content));
        if has_ended && !is_empty {
            self.look(id);
        }
    }

    /// Reports the bytes that can be read.
    fn look(&mut self, id: SocketId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        match connection.readable() {
            Ok(0) if connection.has_ended => {
                self.report(id, SocketEvent::Readable(0));
                self.report(id, SocketEvent::Finished);
            }
            Ok(count) => self.report(id, SocketEvent::Readable(count)),
            Err(error) => self.fail(id, &error),
        }
    }

    /// Handles sockets that have become ready, and queues their events.
    ///
    /// # Errors
    /// If the system cannot report the ready sockets.
    pub fn take_ready(&mut self) -> io::Result<()> {
        let ready: Vec<_> = self.waiter.wait(Some(Duration::ZERO))?.collect();
        for ready in ready {
            match ready.token {
                WOKEN => {}
                LISTENER => self.accept(),
                token => self.changed(id_of(token), ready),
            }
        }
        Ok(())
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(Some((socket, ends))) => {
                    self.accepted.insert(ends, socket);
                    self.events.push_back(SystemEvent::Accepted(ends));
                }
                Ok(None) => return,
                Err(error) => return tracing::warn!("a connection could not be accepted: {error}"),
            }
        }
    }

    fn changed(&mut self, id: SocketId, ready: Ready) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        connection.has_ended |= ready.ended;
        if connection.is_connecting {
            match connection.take_error() {
                Err(error) => return self.fail(id, &error),
                Ok(()) if !ready.writable => return,
                Ok(()) => {
                    connection.is_connecting = false;
                    self.report(id, SocketEvent::Connected);
                }
            }
        }
        if ready.readable || ready.ended {
            self.look(id);
        }
        if ready.writable {
            self.flush_one(id);
        }
    }

    /// Writes the data since the last flush, so that many small pieces share a system call, and makes a part of the
    /// requested reads: due frames of the hop must not wait for a long copy.
    pub fn flush(&mut self) {
        self.flush_written();
        for _ in 0..READS_A_TURN {
            let Some((id, count)) = self.reads.pop_front() else {
                return;
            };
            self.read(id, count);
        }
    }

    /// Writes the data since the last flush, as far as the kernel takes them without delay.
    pub(crate) fn flush_written(&mut self) {
        for id in std::mem::take(&mut self.unflushed) {
            self.flush_one(id);
        }
    }

    fn flush_one(&mut self, id: SocketId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        connection.is_unflushed = false;
        match connection.flush() {
            Err(error) => self.fail(id, &error),
            Ok(()) if connection.is_finished() => self.report(id, SocketEvent::Flushed),
            Ok(()) if connection.has_room() => self.report(id, SocketEvent::Writable(ROOM)),
            Ok(()) => {}
        }
        self.attend(id, None);
    }
}

impl AsFd for Sockets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waiter.as_fd()
    }
}

fn token_of(id: SocketId) -> u64 {
    FIRST_CONNECTION + 2 * id.binding.0 + u64::from(id.side == Side::Mobile)
}

fn id_of(token: u64) -> SocketId {
    let number = token - FIRST_CONNECTION;
    let side = if number.is_multiple_of(2) {
        Side::Fixed
    } else {
        Side::Mobile
    };
    let binding = BindingId(number / 2);
    SocketId { binding, side }
}

/// Returns the refusal for an error of a socket.
fn refusal(error: &io::Error) -> Refusal {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED | Errno::CONNRESET) => Refusal::Refused,
        Some(Errno::NETUNREACH) => Refusal::NetworkUnreachable,
        Some(Errno::HOSTUNREACH) => Refusal::HostUnreachable,
        Some(Errno::ACCESS | Errno::PERM) => Refusal::Prohibited,
        _ => Refusal::NoAnswer,
    }
}
