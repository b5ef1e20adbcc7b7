//! The link that carries messages to the server, over either transport.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use edges::connected::ConnectedUdp;
use edges::wait::{Ready, Waiter};
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use wire::flow::DSCP_BULK;

use super::socket::{LinkNews, Route, SocketInterest};
use super::stream::StreamLink;

/// Size of the kernel's buffer for datagrams in each direction, in bytes: enough for the replies after a fade.
const BUFFER: usize = 8 << 20;
/// Time between attempts to reopen a socket.
const RETRY: Duration = Duration::from_millis(200);

/// The transport of messages.
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

/// The link to the server.
pub(super) enum Link {
    Udp(DatagramLink),
    Tcp(StreamLink),
}

impl Link {
    /// Opens a link; a stream is connected later ([`LinkNews::Connected`]).
    pub(super) fn open(protocol: Protocol, way: Route, waiter: &Waiter) -> io::Result<Self> {
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

    /// Returns the number of times that the socket was reopened.
    pub(super) fn reopened(&self) -> u64 {
        match self {
            Self::Udp(link) => link.reopened,
            Self::Tcp(link) => link.reopened(),
        }
    }

    /// Queues a message, or the next bytes, to be sent by [`work`](Self::work).
    pub(super) fn queue(&mut self, bytes: Bytes) {
        match self {
            Self::Udp(link) => link.outgoing.push_back(bytes),
            Self::Tcp(link) => link.queue(bytes),
        }
    }

    /// Closes the stream and opens a new one.
    pub(super) fn reconnect(&mut self, now: Instant, waiter: &Waiter) {
        if let Self::Tcp(link) = self {
            link.close(now, waiter);
        }
    }

    /// Sends, receives, and reopens closed sockets, as far as possible without waiting.
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

    /// Returns the next event.
    pub(super) fn poll_news(&mut self) -> Option<LinkNews> {
        match self {
            Self::Udp(link) => link.news.pop_front(),
            Self::Tcp(link) => link.poll_news(),
        }
    }

    /// Returns the time at which [`work`](Self::work) must be called at the latest.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Udp(link) => link.retry,
            Self::Tcp(link) => link.poll_timeout(),
        }
    }

    /// Handles a change of this host's addresses or routes.
    pub(super) fn network_changed(&mut self, now: Instant) {
        if let Self::Udp(link) = self {
            link.check(now);
        }
    }
}

/// Datagrams from one local port, for the life of the link: servers identify retransmitted calls by it.
pub(super) struct DatagramLink {
    way: Route,
    socket: Option<ConnectedUdp>,
    local: SocketAddr,
    outgoing: VecDeque<Bytes>,
    news: VecDeque<LinkNews>,
    watch: SocketInterest,
    /// Time at which the socket is reopened, or checked.
    retry: Option<Instant>,
    checked: Instant,
    reopened: u64,
}

impl DatagramLink {
    fn open(way: Route, waiter: &Waiter) -> io::Result<Self> {
        let socket = way.port.open(way.seed, |port| marked(way.server, port))?;
        Ok(Self {
            way,
            watch: SocketInterest::begin(waiter, &socket, false)?,
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
            let mut sink = |datagram| news.push_back(LinkNews::Received(datagram));
            if let Err(error) = socket.receive(&mut sink) {
                news.push_back(LinkNews::Trouble(error));
            }
        }
        let mut is_lost = false;
        while let Err(error) = socket.send(&mut self.outgoing) {
            is_lost |= error.kind() != io::ErrorKind::ConnectionRefused;
            self.news.push_back(LinkNews::Trouble(error));
        }
        let is_blocked = !self.outgoing.is_empty();
        self.watch.for_room(waiter, socket, is_blocked)?;
        if is_lost {
            self.check(now);
        }
        Ok(())
    }

    /// Schedules a check of the socket soon, but not too often.
    fn check(&mut self, now: Instant) {
        self.retry.get_or_insert(now.max(self.checked + RETRY));
    }

    /// Reopens the socket, at the same port, if the route to the server now starts from another address.
    fn reopen(&mut self, now: Instant, waiter: &Waiter) -> io::Result<()> {
        self.checked = now;
        if self.socket.is_some() {
            match ConnectedUdp::open(self.way.server, 0, 0) {
                // No route: the old address may come back, and the next change or failure leads here again.
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
                self.watch = SocketInterest::begin(waiter, &socket, false)?;
                self.local = socket.local_address();
                self.socket = Some(socket);
                self.reopened += 1;
                self.news.push_back(LinkNews::Moved);
            }
            Err(error) => {
                self.news.push_back(LinkNews::Trouble(error));
                self.retry = Some(now + RETRY);
            }
        }
        Ok(())
    }
}

/// Opens a socket for calls, marked as bulk data, for which arrival matters more than delay: the hop holds them and
/// their replies.
fn marked(server: SocketAddr, port: u16) -> io::Result<ConnectedUdp> {
    let socket = ConnectedUdp::open(server, port, BUFFER)?;
    socket.mark(DSCP_BULK)?;
    Ok(socket)
}
