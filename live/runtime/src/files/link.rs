//! What carries messages to the server, whichever transport it is.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use bytes::Bytes;
use edges::connected::ConnectedUdp;
use edges::wait::{Interest, Ready, Waiter};
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use wire::flow::DSCP_BULK;

use super::SourcePort;
use super::stream::StreamLink;

/// The token of whatever socket is in use.
pub(super) const SOCKET: u64 = 0;
/// What the kernel may keep of datagrams each way: a fade's worth of answers.
const BUFFER: usize = 8 << 20;
/// A socket that cannot be opened again is tried again after so long.
const RETRY: Duration = Duration::from_millis(200);

/// What carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    /// Each message is a datagram.
    Udp,
    /// Messages are records of a stream.
    Tcp,
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
        })
    }
}

/// Where a link leads, and from where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) server: SocketAddr,
    pub(super) port: SourcePort,
    pub(super) seed: u64,
}

/// What a link has to tell.
#[derive(Debug)]
pub(super) enum News {
    /// A datagram, or the next bytes of the stream.
    Received(Bytes),
    /// There is a new stream.
    Connected,
    /// There is none any more.
    Disconnected,
    /// The socket has another address now; what was on its way is lost.
    Moved,
    /// The network reports something.
    Trouble(io::Error),
}

/// What the waiter watches the socket for.
#[derive(Debug)]
pub(super) struct Watch {
    for_room: bool,
}

impl Watch {
    /// Begins to watch a socket.
    pub(super) fn begin(waiter: &Waiter, socket: &impl AsFd, for_room: bool) -> io::Result<Self> {
        waiter.add(socket, SOCKET, Interest::in_room_too(for_room))?;
        Ok(Self { for_room })
    }

    /// Watches the same socket for room too, or not.
    pub(super) fn for_room(
        &mut self,
        waiter: &Waiter,
        socket: &impl AsFd,
        for_room: bool,
    ) -> io::Result<()> {
        if for_room != self.for_room {
            self.for_room = for_room;
            waiter.modify(socket, SOCKET, Interest::in_room_too(for_room))?;
        }
        Ok(())
    }
}

/// The way to the server and back.
pub(super) enum Link {
    Udp(DatagramLink),
    Tcp(StreamLink),
}

impl Link {
    /// Opens a link; a stream is connected later ([`News::Connected`]).
    pub(super) fn open(protocol: Protocol, way: Way, waiter: &Waiter) -> io::Result<Self> {
        match protocol {
            Protocol::Udp => DatagramLink::open(way, waiter).map(Self::Udp),
            Protocol::Tcp => Ok(Self::Tcp(StreamLink::new(way))),
        }
    }

    pub(super) fn protocol(&self) -> Protocol {
        match self {
            Self::Udp(_) => Protocol::Udp,
            Self::Tcp(_) => Protocol::Tcp,
        }
    }

    pub(super) fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Udp(link) => Some(link.local),
            Self::Tcp(link) => link.local_address(),
        }
    }

    /// Times that the socket was opened again.
    pub(super) fn reopened(&self) -> u64 {
        match self {
            Self::Udp(link) => link.reopened,
            Self::Tcp(link) => link.reopened(),
        }
    }

    /// Takes a message, or the next bytes, to be sent by [`work`](Self::work).
    pub(super) fn queue(&mut self, bytes: Bytes) {
        match self {
            Self::Udp(link) => link.outgoing.push_back(bytes),
            Self::Tcp(link) => link.queue(bytes),
        }
    }

    /// Gives the stream up for a new one.
    pub(super) fn reconnect(&mut self, now: Instant, waiter: &Waiter) {
        if let Self::Tcp(link) = self {
            link.close(now, waiter);
        }
    }

    /// Sends, receives, and opens again what is closed, as far as that goes without waiting.
    pub(super) fn work(
        &mut self,
        now: Instant,
        ready: Option<Ready>,
        waiter: &Waiter,
    ) -> io::Result<()> {
        match self {
            Self::Udp(link) => link.work(now, ready, waiter),
            Self::Tcp(link) => link.work(now, ready, waiter),
        }
    }

    /// The next of what there is to tell.
    pub(super) fn poll_news(&mut self) -> Option<News> {
        match self {
            Self::Udp(link) => link.news.pop_front(),
            Self::Tcp(link) => link.poll_news(),
        }
    }

    /// When [`work`](Self::work) has to be called at the latest.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Udp(link) => link.retry,
            Self::Tcp(link) => link.poll_timeout(),
        }
    }

    /// This host's addresses or routes have changed.
    pub(super) fn network_changed(&mut self, now: Instant) {
        if let Self::Udp(link) = self {
            link.check(now);
        }
    }
}

/// Datagrams from one local port, for the life of the link: servers tell repeated calls by it.
pub(super) struct DatagramLink {
    way: Way,
    socket: Option<ConnectedUdp>,
    local: SocketAddr,
    outgoing: VecDeque<Bytes>,
    news: VecDeque<News>,
    watch: Watch,
    /// When the socket is opened again, or looked after.
    retry: Option<Instant>,
    checked: Instant,
    reopened: u64,
}

impl DatagramLink {
    fn open(way: Way, waiter: &Waiter) -> io::Result<Self> {
        let socket = way.port.open(way.seed, |port| marked(way.server, port))?;
        Ok(Self {
            way,
            watch: Watch::begin(waiter, &socket, false)?,
            local: socket.local_address(),
            socket: Some(socket),
            outgoing: VecDeque::new(),
            news: VecDeque::new(),
            retry: None,
            checked: Instant::ZERO,
            reopened: 0,
        })
    }

    fn work(&mut self, now: Instant, ready: Option<Ready>, waiter: &Waiter) -> io::Result<()> {
        if self.retry.is_some_and(|retry| retry <= now) {
            self.retry = None;
            self.reopen(now, waiter)?;
        }
        let Some(socket) = &mut self.socket else {
            self.outgoing.clear();
            return Ok(());
        };
        if ready.is_some_and(|ready| ready.readable) {
            let news = &mut self.news;
            let mut sink = |datagram| news.push_back(News::Received(datagram));
            if let Err(error) = socket.receive(&mut sink) {
                news.push_back(News::Trouble(error));
            }
        }
        let mut is_lost = false;
        while let Err(error) = socket.send(&mut self.outgoing) {
            is_lost |= error.kind() != io::ErrorKind::ConnectionRefused;
            self.news.push_back(News::Trouble(error));
        }
        let is_blocked = !self.outgoing.is_empty();
        self.watch.for_room(waiter, socket, is_blocked)?;
        if is_lost {
            self.check(now);
        }
        Ok(())
    }

    /// Has the socket looked after soon, but not again and again.
    fn check(&mut self, now: Instant) {
        self.retry.get_or_insert(now.max(self.checked + RETRY));
    }

    /// Opens the socket again, at the same port, if the way to the server begins at another address by now.
    fn reopen(&mut self, now: Instant, waiter: &Waiter) -> io::Result<()> {
        self.checked = now;
        if self.socket.is_some() {
            match ConnectedUdp::open(self.way.server, 0, 0) {
                // No way at all: the old address may come back, and the next news or failure leads here again.
                Err(_) => return Ok(()),
                Ok(fresh) if fresh.local_address().ip() == self.local.ip() => return Ok(()),
                Ok(_) => {}
            }
        }
        if let Some(old) = self.socket.take() {
            waiter.remove(&old)?;
        }
        match marked(self.way.server, self.local.port()) {
            Ok(socket) => {
                self.watch = Watch::begin(waiter, &socket, false)?;
                self.local = socket.local_address();
                self.socket = Some(socket);
                self.reopened += 1;
                self.news.push_back(News::Moved);
            }
            Err(error) => {
                self.news.push_back(News::Trouble(error));
                self.retry = Some(now + RETRY);
            }
        }
        Ok(())
    }
}

/// A socket for calls, which want to arrive more than they want to arrive soon: the hop holds them, and their answers.
fn marked(server: SocketAddr, port: u16) -> io::Result<ConnectedUdp> {
    let socket = ConnectedUdp::open(server, port, BUFFER)?;
    socket.mark(DSCP_BULK)?;
    Ok(socket)
}
