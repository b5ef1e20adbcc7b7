//! The bearer for networks that let no UDP through: datagrams in TLS over TCP.
//!
//! TCP repairs losses itself, and holds back what came after them. So this bearer keeps little in its buffers, and
//! drops what they have no room for: the hop above sees a loss, not a delay.

mod admission;
mod connection;
mod framing;
mod identity;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};
use units::{Bytes, Duration, Instant};
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use admission::{Admission, MOST, MOST_OF_ONE, MOST_STRANGERS, sender};
use connection::Connection;
use identity::Identity;

use crate::datagrams::{Arrival, Batch, Sent};
use crate::socket::{canonical, context};
use crate::wait::{Interest, Waiter};

/// Token of the listener; those of connections follow.
const LISTENER: u64 = 0;
/// Connections that wait to be accepted, and those that are accepted in one turn.
const BACKLOG: i32 = 128;
const ACCEPTED: usize = 32;
/// Time in which a handshake must end, and a stranger must send what this host answers.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that a stranger may send before the answer.
const UNASKED: usize = 256 << 10;
/// Time without a datagram after which a connection is closed.
const IDLE: Duration = Duration::from_secs(600);
/// Time between two attempts to connect to one address.
const RETRY: Duration = Duration::from_secs(1);
/// Time between two looks at the connections, if some may soon be closed, or none.
const SOON: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(60);
/// Most addresses to which this host connects.
const MOST_SERVERS: usize = 8;
/// Limit of the memory of one connection: buffers of TLS (two records, or a handshake message of 64 KiB), an incomplete
/// datagram, and a backlog.
const MEMORY: Bytes = Bytes::kibi(128);

/// Options of a [`TlsBearer`].
#[derive(Debug, Clone, Copy, Default)]
pub struct TlsOptions {
    /// Address at which connections are accepted; `None` for a host that only connects.
    pub listen: Option<SocketAddr>,
    /// Mark of every segment for policy routing (`SO_MARK`).
    pub mark: Option<u32>,
}

/// Counters of a bearer since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TlsCounters {
    /// Connections that are open.
    pub connections: u64,
    /// Connections that were opened or accepted.
    pub opened: u64,
    /// Connections of strangers that were not accepted, as there were too many.
    pub refused: u64,
    /// Connections that ended by an error, by the other side, or as they were silent or idle.
    pub closed: u64,
    /// Datagrams passed to connections.
    pub sent: u64,
    /// Datagrams received by connections.
    pub received: u64,
    /// Datagrams dropped, as their connection had no room or was not there.
    pub dropped: u64,
}

/// Connections of TLS over TCP: non-blocking, with a descriptor for all of them.
pub struct TlsBearer {
    listener: Option<Socket>,
    mark: Option<u32>,
    identity: Identity,
    waiter: Waiter,
    connections: BTreeMap<u64, Connection>,
    by_address: BTreeMap<SocketAddr, u64>,
    next_token: u64,
    admission: Admission,
    /// Time of the last attempt to connect to an address.
    attempts: BTreeMap<SocketAddr, Instant>,
    next_look: Instant,
    counters: TlsCounters,
}

impl TlsBearer {
    /// Opens the listener, if there is one.
    ///
    /// # Errors
    /// An error names the failed step and the address.
    pub fn open(options: &TlsOptions) -> io::Result<Self> {
        let waiter = Waiter::new()?;
        let listener = options.listen.map(listen).transpose()?;
        if let Some(listener) = &listener {
            waiter.add(listener, LISTENER, Interest::Readable)?;
        }
        Ok(Self {
            identity: Identity::new(listener.is_some())?,
            listener,
            mark: options.mark,
            waiter,
            connections: BTreeMap::new(),
            by_address: BTreeMap::new(),
            next_token: LISTENER + 1,
            admission: Admission::default(),
            attempts: BTreeMap::new(),
            next_look: Instant::ZERO,
            counters: TlsCounters::default(),
        })
    }

    /// Returns the limit of the memory of all connections.
    pub fn memory_most(&self) -> Bytes {
        let most = if self.listener.is_some() {
            MOST
        } else {
            MOST_SERVERS
        };
        MEMORY * most as u64
    }

    /// Returns the address at which it listens.
    ///
    /// # Errors
    /// System errors.
    pub fn listens_at(&self) -> io::Result<Option<SocketAddr>> {
        let Some(listener) = &self.listener else {
            return Ok(None);
        };
        Ok(listener.local_addr()?.as_socket())
    }

    /// Returns the counters.
    pub fn counters(&self) -> TlsCounters {
        TlsCounters {
            connections: self.connections.len() as u64,
            ..self.counters
        }
    }

    /// Receives what has come by the connections that are ready, and gives each datagram to `sink`; accepts new ones.
    ///
    /// # Errors
    /// If waiting fails; errors of connections end them.
    pub fn receive(
        &mut self,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch> {
        let ready: Vec<u64> = self
            .waiter
            .wait(Some(Duration::ZERO))?
            .map(|ready| ready.token)
            .collect();
        let mut batch = Batch::default();
        for token in ready {
            if token == LISTENER {
                self.accept(now)?;
            } else {
                self.read(now, token, sink, &mut batch)?;
            }
        }
        self.counters.received += batch.datagrams as u64;
        Ok(batch)
    }

    fn read(
        &mut self,
        now: Instant,
        token: u64,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
        batch: &mut Batch,
    ) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&token) else {
            return Ok(());
        };
        let from = connection.peer;
        let arrival = Arrival {
            from: wire::address::HopAddress::Tls(from),
            at: now,
            ecn: Ecn::NotCapable,
        };
        let turn = connection.receive(&mut |datagram: &mut [u8]| sink(arrival, datagram));
        match turn {
            Ok(turn) => {
                if turn.datagrams > 0 {
                    connection.received_at = Some(now);
                }
                if connection.sent_at.is_none() {
                    connection.unasked += turn.bytes;
                }
                batch.datagrams += turn.datagrams;
                batch.is_full |= turn.has_more;
                let is_too_much = self.listener.is_some() && connection.unasked > UNASKED;
                if is_too_much {
                    self.close(token);
                    return Ok(());
                }
                self.watch(token)
            }
            Err(error) => {
                tracing::debug!(%from, "a connection of TLS ended: {error}");
                self.close(token);
                Ok(())
            }
        }
    }

    /// Watches a connection for room while bytes wait for it.
    fn watch(&mut self, token: u64) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&token) else {
            return Ok(());
        };
        let waits = connection.waits();
        if waits != connection.is_watched {
            connection.is_watched = waits;
            let interest = Interest::in_room_too(waits);
            self.waiter.modify(connection.socket(), token, interest)?;
        }
        Ok(())
    }

    /// Accepts connections that wait.
    fn accept(&mut self, now: Instant) -> io::Result<()> {
        for _ in 0..ACCEPTED {
            let Some(listener) = &self.listener else {
                return Ok(());
            };
            let (socket, from) = match listener.accept() {
                Ok((socket, from)) => (socket, from.as_socket().map(canonical)),
                // Nobody waits, or the connection broke before, or there are no more descriptors.
                Err(_) => return Ok(()),
            };
            let Some(from) = from else {
                continue;
            };
            let same = |connection: &&Connection| sender(connection.peer.ip()) == sender(from.ip());
            let of_one = self.connections.values().filter(same).count();
            if of_one >= MOST_OF_ONE || !self.admission.takes(now, from.ip()) {
                self.counters.refused += 1;
                // Without a wait for the other side.
                let _ = socket.set_linger(Some(std::time::Duration::ZERO));
                continue;
            }
            self.make_room();
            let tls = self.identity.server();
            if let Ok(connection) = tls.and_then(|tls| Connection::new(socket, from, tls, now)) {
                self.add(from, connection)?;
            }
        }
        Ok(())
    }

    /// Closes the oldest stranger, or the peer that was sent nothing for the longest time, if there are too many.
    fn make_room(&mut self) {
        let of = |is_stranger: bool| {
            let connections = self.connections.iter();
            connections.filter(move |(_, one)| one.sent_at.is_none() == is_stranger)
        };
        let strangers = of(true).count();
        if strangers < MOST_STRANGERS && self.connections.len() < MOST {
            return;
        }
        let oldest = of(strangers > 0).min_by_key(|(_, one)| one.sent_at.unwrap_or(one.opened));
        if let Some(token) = oldest.map(|(token, _)| *token) {
            self.close(token);
        }
    }

    fn add(&mut self, peer: SocketAddr, connection: Connection) -> io::Result<()> {
        if let Some(former) = self.by_address.get(&peer).copied() {
            self.close(former);
        }
        let token = self.next_token;
        self.next_token += 1;
        self.waiter
            .add(connection.socket(), token, Interest::Readable)?;
        self.counters.opened += 1;
        self.connections.insert(token, connection);
        self.by_address.insert(peer, token);
        self.next_look = Instant::ZERO;
        Ok(())
    }

    fn close(&mut self, token: u64) {
        if let Some(connection) = self.connections.remove(&token) {
            self.by_address.remove(&connection.peer);
            self.counters.closed += 1;
            // It is closed with its descriptor anyway.
            let _ = self.waiter.remove(connection.socket());
            connection.close();
        }
    }

    /// Sends datagrams by the connection with `to`; a host that does not listen connects first. What there is no room
    /// for is dropped.
    pub fn send(&mut self, now: Instant, to: SocketAddr, datagrams: &[PacketBuffer]) -> Sent {
        let to = canonical(to);
        let mut sent = Sent {
            handled: datagrams.len(),
            dropped: datagrams.len(),
            problem: None,
        };
        let result = self.connection_with(now, to).and_then(|token| {
            let connection = self.connections.get_mut(&token);
            let connection = connection.ok_or(io::ErrorKind::NotConnected)?;
            connection.sent_at = Some(now);
            let count = connection.send(datagrams)?;
            self.counters.sent += count as u64;
            sent.dropped -= count;
            self.watch(token)
        });
        if let Err(error) = result {
            if let Some(token) = self.by_address.get(&to).copied() {
                self.close(token);
            }
            sent.problem = Some(error);
        }
        self.counters.dropped += sent.dropped as u64;
        sent
    }

    fn connection_with(&mut self, now: Instant, to: SocketAddr) -> io::Result<u64> {
        if let Some(token) = self.by_address.get(&to) {
            return Ok(*token);
        }
        let is_early = |at: &Instant| now.since(*at) < RETRY;
        if self.listener.is_some() || self.attempts.get(&to).is_some_and(is_early) {
            return Err(Errno::NOTCONN.into());
        }
        self.attempts.retain(|_, at| is_early(at));
        if self.attempts.len() >= MOST_SERVERS || self.connections.len() >= MOST_SERVERS {
            return Err(Errno::NOBUFS.into());
        }
        self.attempts.insert(to, now);
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
        if let Some(mark) = self.mark {
            socket.set_mark(mark)?;
        }
        let mut connection = Connection::new(socket, to, self.identity.client(to.ip())?, now)?;
        match connection.socket().connect(&to.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        connection.flush()?;
        self.add(to, connection)?;
        let token = self.next_token - 1;
        self.watch(token)?;
        Ok(token)
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        (!self.connections.is_empty()).then_some(self.next_look)
    }

    /// Closes connections whose time is over.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.connections.is_empty() || now < self.next_look {
            return;
        }
        let is_server = self.listener.is_some();
        let is_new = |one: &Connection| one.is_beginning() || (is_server && one.sent_at.is_none());
        let is_over = |one: &Connection| {
            let last = one.sent_at.max(one.received_at).unwrap_or(one.opened);
            (is_new(one) && now.since(one.opened) >= PATIENCE) || now.since(last) >= IDLE
        };
        let all = self.connections.iter();
        let over: Vec<u64> = all
            .filter(|(_, one)| is_over(one))
            .map(|(token, _)| *token)
            .collect();
        for token in over {
            self.close(token);
        }
        let are_new = self.connections.values().any(is_new);
        self.next_look = now + if are_new { SOON } else { LATER };
    }

    /// Closes the connections of a host that has another address or another way to the server now.
    pub fn follow_network(&mut self) {
        if self.listener.is_some() {
            return;
        }
        let mark = self.mark;
        let is_stale = |one: &Connection| {
            let present = one.socket().local_addr().ok()?.as_socket()?.ip();
            Some(source_towards(one.peer, mark).ok() != Some(present))
        };
        let all = self.connections.iter();
        let stale: Vec<u64> = all
            .filter(|(_, one)| is_stale(one).unwrap_or(true))
            .map(|(token, _)| *token)
            .collect();
        for token in stale {
            self.close(token);
        }
        self.attempts.clear();
    }
}

impl AsFd for TlsBearer {
    /// Returns a descriptor that is readable while a connection is ready.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waiter.as_fd()
    }
}

/// Returns the source address of segments to `to`. Nothing is sent.
fn source_towards(to: SocketAddr, mark: Option<u32>) -> io::Result<IpAddr> {
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
    if let Some(mark) = mark {
        socket.set_mark(mark)?;
    }
    socket.connect(&to.into())?;
    let own = socket.local_addr()?.as_socket();
    own.map(|own| own.ip())
        .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

fn listen(at: SocketAddr) -> io::Result<Socket> {
    let what = || format!("cannot listen at TCP {at}");
    let open = || {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
        if at.is_ipv6() {
            socket.set_only_v6(!at.ip().is_unspecified())?;
        }
        // A former start of this program may have left connections that end.
        socket.set_reuse_address(true)?;
        socket.bind(&at.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    open().map_err(|error: io::Error| context(&error, &what()))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
