//! One connection of TLS over TCP, and the datagrams in it.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Duration;

use libc::MSG_NOSIGNAL;
use socket2::{Socket, TcpKeepalive};
use units::Instant;
use wire::packet::PacketBuffer;

use super::framing::{self, Incoming};
use crate::socket::set_option;

/// Bytes of a turn: then others have theirs.
const TURN: usize = 64 << 10;
/// Bytes that one record of TLS carries, but for what fits in no more (RFC 8446 §5.1: at most 2^14).
const RECORD: usize = 14 << 10;
/// Bytes that wait for the end of the handshake; more datagrams are dropped.
const BEFORE: usize = 8 << 10;
/// Bytes that may wait here, and unsent in the kernel; more datagrams are dropped, so that the hop's own window sees
/// that there is no room, instead of a delay.
const BACKLOG: usize = 16 << 10;
const UNSENT: i32 = 16 << 10;
/// Time without an acknowledgement of TCP after which a connection is given up: a new one is faster than a
/// retransmission timeout that has doubled for a whole fade.
const UNACKNOWLEDGED: Duration = Duration::from_secs(8);
/// Keepalive: the first after this time, and the time between the others.
const IDLE: Duration = Duration::from_mins(10);
const BETWEEN: Duration = Duration::from_secs(15);

/// What one turn has brought.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    pub(super) datagrams: usize,
    pub(super) bytes: usize,
    /// True if more may wait.
    pub(super) has_more: bool,
}

/// A connection.
pub(super) struct Connection {
    socket: Socket,
    /// Address of the other side.
    pub(super) peer: SocketAddr,
    tls: rustls::Connection,
    incoming: Incoming,
    /// Datagrams of the next record.
    record: Vec<u8>,
    /// Bytes of TLS that wait for room in the socket, from `sent` on.
    outgoing: Vec<u8>,
    sent: usize,
    pub(super) opened: Instant,
    /// Last time of a datagram in each direction.
    pub(super) sent_at: Option<Instant>,
    pub(super) received_at: Option<Instant>,
    /// Bytes received before the first datagram was sent.
    pub(super) unasked: usize,
    /// True if it is watched for room.
    pub(super) is_watched: bool,
}

impl Connection {
    /// Returns one on a socket that is connected or connecting.
    pub(super) fn new(
        socket: Socket,
        peer: SocketAddr,
        tls: rustls::Connection,
        now: Instant,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
        let keepalive = TcpKeepalive::new().with_time(IDLE).with_interval(BETWEEN);
        socket.set_tcp_keepalive(&keepalive)?;
        set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT)?;
        Ok(Self {
            socket,
            peer,
            tls,
            incoming: Incoming::default(),
            record: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            opened: now,
            sent_at: None,
            received_at: None,
            unasked: 0,
            is_watched: false,
        })
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Returns the bytes of buffers that are held here, without those of TLS.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.outgoing.capacity() + self.record.capacity()
    }

    /// Returns true before the end of the handshake of TLS.
    pub(super) fn is_beginning(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Returns true if bytes wait for room in the socket.
    pub(super) fn waits(&self) -> bool {
        self.sent < self.outgoing.len()
    }

    /// Receives what has come, up to a turn, and gives each datagram to `sink`; sends what waits.
    ///
    /// # Errors
    /// The end or an error of the connection, or bytes that are not of a mobile host or gateway.
    pub(super) fn receive(&mut self, sink: &mut dyn FnMut(&mut [u8])) -> io::Result<Turn> {
        let mut turn = Turn::default();
        loop {
            match self.tls.read_tls(&mut &self.socket) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => turn.bytes += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let state = match self.tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // The other side may learn why.
                    let _ = self.flush();
                    return Err(io::Error::new(io::ErrorKind::InvalidData, error));
                }
            };
            let (count, is_over) = (state.plaintext_bytes_to_read(), state.peer_has_closed());
            let mut reader = self.tls.reader();
            turn.datagrams += self.incoming.read(&mut Plain(&mut reader), count, sink)?;
            if is_over {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if turn.bytes >= TURN {
                turn.has_more = true;
                break;
            }
        }
        if !self.is_beginning() {
            self.seal()?;
        }
        self.flush()?;
        Ok(turn)
    }

    /// Sends datagrams, as many as there is room for; returns their number. The others are lost.
    ///
    /// # Errors
    /// The end or an error of the connection.
    pub(super) fn send(&mut self, datagrams: &[PacketBuffer]) -> io::Result<usize> {
        let mut count = 0;
        for datagram in datagrams {
            let room = if self.is_beginning() { BEFORE } else { RECORD };
            if self.record.len() + datagram.len() > room {
                if self.is_beginning() {
                    break;
                }
                self.seal()?;
                self.flush()?;
            }
            if self.outgoing.len() - self.sent >= BACKLOG {
                break;
            }
            count += usize::from(framing::append(&mut self.record, datagram));
        }
        if !self.is_beginning() {
            self.seal()?;
        }
        self.flush()?;
        Ok(count)
    }

    /// Makes a record of the datagrams that wait for one.
    fn seal(&mut self) -> io::Result<()> {
        if !self.record.is_empty() {
            io::Write::write_all(&mut self.tls.writer(), &self.record)?;
            self.record.clear();
        }
        Ok(())
    }

    /// Passes waiting bytes to the socket, as many as it has room for.
    ///
    /// # Errors
    /// The error of the connection.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.outgoing)?;
        }
        while self.waits() {
            let rest = &self.outgoing[self.sent..];
            match self.socket.send_with_flags(rest, MSG_NOSIGNAL) {
                Ok(count) => self.sent += count,
                Err(error) if is_for_later(&error) => {
                    self.outgoing.drain(..std::mem::take(&mut self.sent));
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(())
    }

    /// Ends the connection. Nothing that waits is worth waiting for.
    pub(super) fn close(mut self) {
        self.tls.send_close_notify();
        let _ = self.flush();
    }
}

/// Returns true if the socket takes bytes later: it is full, or not connected yet.
fn is_for_later(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::WouldBlock
        || kind == io::ErrorKind::NotConnected
        || kind == io::ErrorKind::Interrupted
}

/// The plaintext of TLS.
struct Plain<'a, 'b>(&'a mut rustls::Reader<'b>);

impl Read for Plain<'_, '_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}
