//! The packets of connections to servers on this host.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::io;

use edges::clock;
use edges::wait::Ready;
use machine::{Deadlines, earlier};
use rustix::io::Errno;
use split::SocketId;
use units::{Bytes, Instant};
use wire::flow::Ends;
use wire::icmp::IcmpMessage;
use wire::ip::{IpPacket, Transport};
use wire::packet::Packet;
use wire::tcp::connection_requested;

use super::connection::Stream;
use super::inward::{Inward, MEMORY};
use super::{Sockets, token_of};

/// Largest number of connections, also of those that have been released.
const MOST: usize = 512;

/// Connections to servers on this host.
#[derive(Default)]
pub(super) struct Inwards {
    /// The socket of each connection, unless it was released.
    ids: HashMap<Ends, Option<SocketId>>,
    /// Released connections, whose last packets may have to be repeated.
    released: HashMap<Ends, Inward>,
    due: Deadlines<Ends>,
    packets: VecDeque<Packet>,
    seeds: RandomState,
}

/// A packet of a connection, or the refusal of one.
enum Found {
    Segment,
    Refused(Errno),
}

impl Inwards {
    /// Returns the largest memory of all connections.
    pub(super) fn memory() -> Bytes {
        Bytes::new(MEMORY.get() * MOST as u64)
    }

    /// Begins a connection.
    ///
    /// # Errors
    /// If there are too many, or such a connection is impossible.
    fn connect(&mut self, ends: Ends, id: SocketId) -> io::Result<Stream> {
        if self.released.remove(&ends).is_none() && self.ids.len() >= MOST {
            return Err(Errno::NOBUFS.into());
        }
        let seed = self
            .seeds
            .hash_one((ends, id, clock::monotonic().as_nanos()));
        let inward = Inward::connect(ends, seed, clock::monotonic())?;
        self.ids.insert(ends, Some(id));
        Ok(Stream::Inward(Box::new(inward)))
    }

    /// Returns the connection that a packet of this host concerns, if there is one.
    fn find(&self, packet: &Packet) -> Option<(Ends, Found)> {
        if self.ids.is_empty() {
            return None;
        }
        let packet = packet.ip()?;
        let (ends, found) = match packet.transport() {
            Transport::Tcp(_) => (Ends::of(&packet).reversed(), Found::Segment),
            Transport::Icmp(message) => {
                let IcmpMessage::Unreachable { code, original } = message.message() else {
                    return None;
                };
                let error = refusal_of(packet.destination().is_ipv4(), code);
                let ends = Ends::of(&IpPacket::parse(original).ok()?);
                (ends, Found::Refused(error))
            }
            _ => return None,
        };
        self.ids.contains_key(&ends).then_some((ends, found))
    }

    /// Takes the packets of a connection, and notes its next timeout.
    fn collect(&mut self, now: Instant, inward: &mut Inward) {
        while let Some(packet) = inward.poll_packet() {
            self.packets.push_back(packet);
        }
        self.due.set(inward.ends(), inward.poll_timeout(now));
    }

    fn forget(&mut self, ends: Ends) {
        self.ids.remove(&ends);
        self.due.clear(ends);
    }

    /// Continues with a released connection.
    fn attend_released(&mut self, ends: Ends, packet: Option<Packet>) {
        let now = clock::monotonic();
        let Some(mut inward) = self.released.remove(&ends) else {
            return;
        };
        inward.poll(now, packet);
        self.collect(now, &mut inward);
        if inward.is_over() {
            self.forget(ends);
        } else {
            self.released.insert(ends, inward);
        }
    }
}

impl Sockets {
    /// Takes a packet of this host if it belongs to a connection to one of its own servers; otherwise returns it.
    pub(crate) fn take(&mut self, packet: Packet) -> Option<Packet> {
        let Some((ends, found)) = self.inwards.find(&packet) else {
            return Some(packet);
        };
        match (self.inwards.ids.get(&ends).copied().flatten(), found) {
            (Some(id), Found::Segment) => self.attend(id, Some(packet)),
            (Some(id), Found::Refused(error)) => {
                if let Some(inward) = self.inward(id) {
                    inward.refuse(error);
                }
                self.attend(id, None);
            }
            (None, Found::Segment) => self.inwards.attend_released(ends, Some(packet)),
            (None, Found::Refused(_)) => {}
        }
        None
    }

    /// Examines this host's connections from before this process, now that the hop is up.
    pub(crate) fn examine_former(&mut self) {
        self.examination.begin(clock::monotonic());
    }

    /// Returns the next packet for this host.
    pub(crate) fn poll_packet(&mut self) -> Option<Packet> {
        self.inwards.packets.pop_front()
    }

    /// Returns the time of the next timeout.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        earlier(self.inwards.due.first(), self.examination.due())
    }

    /// Handles timeouts that are due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let unknown = self.examination.handle_timeout(now).into_iter();
        let unknown = unknown.filter(|ends| !self.inwards.ids.contains_key(ends));
        let requests = unknown.filter_map(connection_requested).take(MOST);
        self.inwards.packets.extend(requests.map(Packet::new));
        while let Some(ends) = self.inwards.due.first_due(now) {
            self.inwards.due.clear(ends);
            match self.inwards.ids.get(&ends).copied().flatten() {
                Some(id) => self.attend(id, None),
                None => self.inwards.attend_released(ends, None),
            }
        }
    }

    /// Begins a connection to a server on this host.
    ///
    /// # Errors
    /// Those of [`Inwards::connect`].
    pub(super) fn connect_inward(&mut self, ends: Ends, id: SocketId) -> io::Result<Stream> {
        self.inwards.connect(ends, id)
    }

    /// Continues with a connection to a server on this host, with its next packet if there is one. For a socket of the
    /// kernel nothing is left to do.
    pub(super) fn attend(&mut self, id: SocketId, packet: Option<Packet>) {
        let now = clock::monotonic();
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let is_blocked = !connection.has_room();
        let Stream::Inward(inward) = connection.stream() else {
            return;
        };
        let has_changed = inward.poll(now, packet);
        self.inwards.collect(now, inward);
        if has_changed || is_blocked && inward.can_send() {
            let ready = Ready {
                token: token_of(id),
                readable: inward.available() > 0,
                writable: inward.is_established(),
                ended: inward.has_ended(),
            };
            self.changed(id, ready);
        }
    }

    /// Resets a connection.
    pub(super) fn reset(&mut self, id: SocketId) {
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        if let Stream::Inward(mut inward) = connection.into_stream() {
            let now = clock::monotonic();
            inward.abort();
            inward.poll(now, None);
            self.inwards.collect(now, &mut inward);
            self.inwards.forget(inward.ends());
        }
    }

    /// Leaves a connection whose directions have both ended to the kernel, or to its last packets.
    pub(super) fn release(&mut self, id: SocketId) {
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        match connection.into_stream() {
            // If that fails, the connection is reset, and the peer does not take the stream for complete.
            Stream::Kernel(socket) => drop(socket.release()),
            Stream::Inward(inward) => {
                let ends = inward.ends();
                self.inwards.ids.insert(ends, None);
                self.inwards.released.insert(ends, *inward);
                self.inwards.attend_released(ends, None);
            }
        }
    }

    fn inward(&mut self, id: SocketId) -> Option<&mut Inward> {
        match self.connections.get_mut(&id)?.stream() {
            Stream::Inward(inward) => Some(inward),
            Stream::Kernel(_) => None,
        }
    }
}

/// Returns the error of a connection for the code of an ICMP message (RFC 1122 §4.2.3.9, RFC 1812 §5.2.7.1, RFC 4443
/// §3.1).
fn refusal_of(is_ipv4: bool, code: u8) -> Errno {
    match (is_ipv4, code) {
        (true, 2 | 3) | (false, 4) => Errno::CONNREFUSED,
        (true, 9 | 10 | 13) | (false, 1 | 5) => Errno::ACCESS,
        (true, 0 | 6) | (false, 0) => Errno::NETUNREACH,
        _ => Errno::HOSTUNREACH,
    }
}
