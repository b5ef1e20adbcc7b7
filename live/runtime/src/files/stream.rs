//! A stream to the server that is reopened whenever it breaks.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::{Buf, Bytes, BytesMut};
use edges::wait::{Ready, Waiter};
use socket2::{Domain, Socket, Type};
use units::{Duration, Instant};

use super::socket::{LinkNews, Route, SocketInterest};

/// Size of one read, in bytes.
const ROOM: usize = 256 << 10;
/// Number of pieces that one system call sends.
const SLICES: usize = 64;
/// Largest number of reads in one turn, so that replies are sent in between.
const READS_A_TURN: usize = 4;
/// Pause before the first attempt to reconnect, and longest pause; each pause is twice as long as the one before.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Time after which an attempt to connect is abandoned for a new one: across a fade, the kernel's own back-off would
/// take a minute.
const ATTEMPT: Duration = Duration::from_secs(5);

enum State {
    /// Closed; opened again at this time.
    Closed { until: Instant },
    Connecting {
        socket: TcpStream,
        watch: SocketInterest,
        until: Instant,
    },
    Connected {
        socket: TcpStream,
        watch: SocketInterest,
    },
}

/// A stream of records.
pub(super) struct StreamLink {
    way: Route,
    /// Local address of the latest stream: the server identifies us by its port.
    local: Option<SocketAddr>,
    state: State,
    pause: Duration,
    outgoing: VecDeque<Bytes>,
    incoming: BytesMut,
    news: VecDeque<LinkNews>,
    opened: u64,
}

impl StreamLink {
    /// Returns a stream that is opened as soon as there is work.
    pub(super) fn new(way: Route) -> Self {
        Self {
            way,
            local: None,
            state: State::Closed {
                until: Instant::ZERO,
            },
            pause: PAUSE_MIN,
            outgoing: VecDeque::new(),
            incoming: BytesMut::new(),
            news: VecDeque::new(),
            opened: 0,
        }
    }

    pub(super) fn local_address(&self) -> Option<SocketAddr> {
        match &self.state {
            State::Connected { .. } => self.local,
            State::Closed { .. } | State::Connecting { .. } => None,
        }
    }

    /// Returns the number of times that it was reopened.
    pub(super) fn reopened(&self) -> u64 {
        self.opened.saturating_sub(1)
    }

    pub(super) fn poll_news(&mut self) -> Option<LinkNews> {
        self.news.pop_front()
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Closed { until } | State::Connecting { until, .. } => Some(*until),
            State::Connected { .. } => None,
        }
    }

    /// Queues bytes; without a stream they are lost, as with one that breaks.
    pub(super) fn queue(&mut self, bytes: Bytes) {
        if matches!(self.state, State::Connected { .. }) {
            self.outgoing.push_back(bytes);
        }
    }

    /// Closes the stream; it is reopened after a pause.
    pub(super) fn close(&mut self, now: Instant, waiter: &Waiter) {
        let until = now + self.pause;
        let closed = State::Closed { until };
        match std::mem::replace(&mut self.state, closed) {
            State::Connected { socket, .. } => {
                let _ = waiter.remove(&socket);
                self.news.push_back(LinkNews::Disconnected);
            }
            State::Connecting { socket, .. } => {
                let _ = waiter.remove(&socket);
            }
            State::Closed { .. } => {}
        }
        self.outgoing.clear();
        self.pause = (self.pause + self.pause).min(PAUSE_MAX);
    }

    pub(super) fn work(
        &mut self,
        now: Instant,
        ready: Option<Ready>,
        waiter: &Waiter,
    ) -> io::Result<()> {
        if self.poll_timeout().is_some_and(|until| until <= now) {
            if matches!(self.state, State::Connecting { .. }) {
                self.fail(now, waiter, io::ErrorKind::TimedOut.into());
            } else {
                self.open(now, waiter)?;
            }
            return Ok(());
        }
        if let (State::Connecting { .. }, Some(_)) = (&self.state, ready) {
            self.finish_connecting(now, waiter)?;
        }
        if ready.is_some_and(|ready| ready.readable)
            && let Err(error) = self.read()
        {
            self.fail(now, waiter, error);
        }
        if let Err(error) = self.write() {
            self.fail(now, waiter, error);
        }
        self.watch(waiter)
    }

    fn fail(&mut self, now: Instant, waiter: &Waiter, error: io::Error) {
        self.news.push_back(LinkNews::Trouble(error));
        self.close(now, waiter);
    }

    /// Begins to connect: from the port that the server knows, if it is available.
    fn open(&mut self, now: Instant, waiter: &Waiter) -> io::Result<()> {
        let Route { server, port, seed } = self.way;
        let known = self.local.map(|local| begin(server, local.port()));
        let begun = match known {
            Some(Ok(socket)) => Ok(socket),
            Some(Err(error)) if !is_about_the_port(&error) => Err(error),
            Some(Err(_)) | None => port.open(seed, |port| begin(server, port)),
        };
        match begun {
            Ok(socket) => {
                self.state = State::Connecting {
                    // The socket has room once it is connected.
                    watch: SocketInterest::begin(waiter, &socket, true)?,
                    socket,
                    until: now + ATTEMPT,
                };
            }
            Err(error) => self.fail(now, waiter, error),
        }
        Ok(())
    }

    fn finish_connecting(&mut self, now: Instant, waiter: &Waiter) -> io::Result<()> {
        let State::Connecting { socket, .. } = &self.state else {
            return Ok(());
        };
        if let Some(error) = socket.take_error()? {
            self.fail(now, waiter, error);
            return Ok(());
        }
        if socket.peer_addr().is_err() {
            return Ok(());
        }
        let closed = State::Closed { until: now };
        let connecting = std::mem::replace(&mut self.state, closed);
        if let State::Connecting { socket, watch, .. } = connecting {
            self.local = socket.local_addr().ok();
            self.state = State::Connected { socket, watch };
        }
        self.pause = PAUSE_MIN;
        self.opened += 1;
        self.news.push_back(LinkNews::Connected);
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        for _ in 0..READS_A_TURN {
            let State::Connected { socket, .. } = &mut self.state else {
                return Ok(());
            };
            self.incoming.resize(ROOM, 0);
            match socket.read(&mut self.incoming) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    let bytes = self.incoming.split_to(count).freeze();
                    self.news.push_back(LinkNews::Received(bytes));
                    if count < ROOM {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            let State::Connected { socket, .. } = &mut self.state else {
                return Ok(());
            };
            let slices: Vec<_> = self.outgoing.iter().take(SLICES).collect();
            let slices: Vec<_> = slices.iter().map(|bytes| IoSlice::new(bytes)).collect();
            match socket.write_vectored(&slices) {
                Ok(count) => self.sent(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes `count` bytes that were sent.
    fn sent(&mut self, mut count: usize) {
        while let Some(front) = self.outgoing.front_mut() {
            if front.len() > count {
                front.advance(count);
                return;
            }
            count -= front.len();
            self.outgoing.pop_front();
        }
    }

    /// Watches for room while data wait for it.
    fn watch(&mut self, waiter: &Waiter) -> io::Result<()> {
        let State::Connected { socket, watch } = &mut self.state else {
            return Ok(());
        };
        watch.for_room(waiter, socket, !self.outgoing.is_empty())
    }
}

/// Begins to connect from a local port.
fn begin(server: SocketAddr, port: u16) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    if port != 0 {
        socket.set_reuse_address(true)?;
        let local: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, port).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, port).into(),
        };
        socket.bind(&local.into())?;
    }
    match socket.connect(&server.into()) {
        Ok(()) => Ok(socket.into()),
        Err(error)
            if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) =>
        {
            Ok(socket.into())
        }
        Err(error) => Err(error),
    }
}

/// Returns true if another port could work: this one is in use, or its last connection lingers.
fn is_about_the_port(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AddrInUse
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::PermissionDenied
    )
}
