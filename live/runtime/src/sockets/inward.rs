//! Connections to servers on a mobile host, which the gateway has requested.
//!
//! Their packets enter this host through the packet device, as if they had crossed the hop one by one. So this host's
//! firewall sees them where it sees all packets from the hop, and decides the same. A socket of the kernel could not do
//! that: between two addresses of one host it uses the loopback interface, which firewalls leave open.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use rustix::io::Errno;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use units::{Bytes, Duration, Instant};
use wire::flow::Ends;
use wire::packet::{Packet, PacketBuffer};

/// Size of the buffer in each direction. The other end is on this host, so the round-trip time is short.
const BUFFER: usize = 64 << 10;
/// Memory of one connection.
pub(super) const MEMORY: Bytes = Bytes::new(3 * BUFFER as u64);
/// Longest packet to this host, in bytes.
const MTU: usize = 1_500;
/// Time until a request without an answer fails, as in the kernel (`tcp_syn_retries`), and until a connection fails
/// whose data are not acknowledged (RFC 1122 §4.2.3.5: at least 100 s).
const CONNECTING: smoltcp::time::Duration = smoltcp::time::Duration::from_secs(127);
const SILENCE: smoltcp::time::Duration = smoltcp::time::Duration::from_secs(900);

/// One connection, with a network interface of its own that has the address of the requesting host.
pub(super) struct Inward {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    queues: Queues,
    ends: Ends,
    error: Option<Errno>,
    is_established: bool,
    /// True if our direction is closed, or the other one.
    has_finished: bool,
    has_ended: bool,
}

impl Inward {
    /// Begins a connection. It is established when [`poll`](Self::poll) returns true and there is no error.
    ///
    /// # Errors
    /// `InvalidInput` if such a connection is impossible.
    pub(super) fn connect(ends: Ends, seed: u64, now: Instant) -> io::Result<Self> {
        let mut queues = Queues::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut queues, time(now));
        // Every other address is on this link.
        let own = IpCidr::new(IpAddress::from(ends.source.ip()), 0);
        interface.update_ip_addrs(|all| {
            // An empty list has room for one.
            let _ = all.push(own);
        });
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.set_timeout(Some(CONNECTING));
        let (remote, local): (SocketAddr, SocketAddr) = (ends.destination, ends.source);
        socket
            .connect(interface.context(), remote, local)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Ok(Self {
            interface,
            sockets,
            handle,
            queues,
            ends,
            error: None,
            is_established: false,
            has_finished: false,
            has_ended: false,
        })
    }

    pub(super) fn ends(&self) -> Ends {
        self.ends
    }

    /// Handles a packet from this host, if there is one, and timeouts that are due. Returns true if something became
    /// readable or writable, or the connection ended.
    pub(super) fn poll(&mut self, now: Instant, packet: Option<Packet>) -> bool {
        self.queues.received.extend(packet);
        let before = self.socket().recv_queue();
        self.interface
            .poll(time(now), &mut self.queues, &mut self.sockets);
        let (state, after) = (self.socket().state(), self.socket().recv_queue());
        let mut has_changed = after > before;
        if !self.is_established && state == State::Established {
            self.is_established = true;
            self.socket_mut().set_timeout(Some(SILENCE));
            has_changed = true;
        }
        let ends = [
            State::CloseWait,
            State::LastAck,
            State::Closing,
            State::TimeWait,
        ];
        if !self.has_ended && (ends.contains(&state) || self.is_over()) {
            has_changed = true;
            let is_reset = state == State::Closed;
            if is_reset && self.error.is_none() {
                self.error = Some(if self.is_established {
                    Errno::CONNRESET
                } else {
                    Errno::CONNREFUSED
                });
            }
            self.has_ended = true;
        } else if state == State::Closed && !self.has_finished && self.error.is_none() {
            // A reset after the end of the other direction.
            self.error = Some(Errno::CONNRESET);
            has_changed = true;
        }
        has_changed
    }

    /// Notes that this host has refused the connection.
    pub(super) fn refuse(&mut self, error: Errno) {
        if !self.is_established {
            self.error = Some(error);
            self.socket_mut().abort();
        }
    }

    /// Returns the next packet for this host.
    pub(super) fn poll_packet(&mut self) -> Option<Packet> {
        self.queues
            .sent
            .pop_front()
            .map(|bytes| Packet::new(PacketBuffer::copy_of(&bytes)))
    }

    /// Returns the time of the next timeout.
    pub(super) fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        let due = self.interface.poll_at(time(now), &self.sockets)?;
        Some(Instant::ZERO + Duration::from_micros(due.total_micros().unsigned_abs()))
    }

    pub(super) fn is_established(&self) -> bool {
        self.is_established
    }

    /// Returns true if nothing follows the readable bytes.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns true if no packet follows but those that answer the other side's last ones.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.socket().state(), State::Closed | State::TimeWait)
    }

    /// Takes the error of the connection, if there is one.
    ///
    /// # Errors
    /// That error.
    pub(super) fn take_error(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Returns true if there is room for bytes to send.
    pub(super) fn can_send(&self) -> bool {
        self.socket().can_send()
    }

    pub(super) fn available(&self) -> u64 {
        self.socket().recv_queue() as u64
    }

    /// Receives at most `count` bytes.
    ///
    /// # Errors
    /// The error of the connection.
    pub(super) fn receive(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let length = count.min(self.socket().recv_queue());
        if length == 0 {
            return self.take_error().map(|()| Vec::new());
        }
        let mut bytes = vec![0; length];
        // It fails only if nothing can be received.
        let length = self.socket_mut().recv_slice(&mut bytes).unwrap_or(0);
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Sends as much of `pieces` as there is room for, and returns the number of bytes.
    ///
    /// # Errors
    /// The error of the connection.
    pub(super) fn send<'a>(&mut self, pieces: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        self.take_error()?;
        let mut sent = 0;
        for piece in pieces {
            let part = self.socket_mut().send_slice(piece);
            let part = part.map_err(|_| io::Error::from(Errno::PIPE))?;
            sent += part;
            if part < piece.len() {
                break;
            }
        }
        Ok(sent)
    }

    /// Closes the sending direction after the sent bytes.
    pub(super) fn finish(&mut self) {
        self.has_finished = true;
        self.socket_mut().close();
    }

    /// Resets the connection; the next poll sends that.
    pub(super) fn abort(&mut self) {
        self.socket_mut().abort();
    }

    fn socket(&self) -> &Socket<'static> {
        self.sockets.get(self.handle)
    }

    fn socket_mut(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }
}

impl std::fmt::Debug for Inward {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?} {}", self.ends, self.socket().state())
    }
}

fn time(now: Instant) -> smoltcp::time::Instant {
    let micros = now.since_origin().as_micros();
    smoltcp::time::Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

/// Packets from and to this host.
#[derive(Debug, Default)]
struct Queues {
    received: VecDeque<Packet>,
    sent: VecDeque<Vec<u8>>,
}

impl Device for Queues {
    type RxToken<'a> = Received;
    type TxToken<'a> = ToSend<'a>;

    fn receive(&mut self, _: smoltcp::time::Instant) -> Option<(Received, ToSend<'_>)> {
        let packet = self.received.pop_front()?;
        Some((Received(packet), ToSend(&mut self.sent)))
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<ToSend<'_>> {
        Some(ToSend(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        // The kernel leaves checksums of packets that stay on this host open.
        capabilities.checksum.tcp = Checksum::Tx;
        capabilities
    }
}

struct Received(Packet);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

struct ToSend<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for ToSend<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut bytes = vec![0; length];
        let result = write(&mut bytes);
        self.0.push_back(bytes);
        result
    }
}
