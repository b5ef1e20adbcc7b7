//! What links over either transport have in common.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use bytes::Bytes;
use edges::wait::{Interest, Waiter};

use super::SourcePort;

/// Token of the current socket.
pub(super) const SOCKET: u64 = 0;

/// Addresses of a link's ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    pub(super) server: SocketAddr,
    pub(super) port: SourcePort,
    pub(super) seed: u64,
}

/// An event of a link.
#[derive(Debug)]
pub(super) enum LinkNews {
    /// A datagram, or the next bytes of the stream.
    Received(Bytes),
    /// A new stream is connected.
    Connected,
    /// The stream is disconnected.
    Disconnected,
    /// The socket has another address now; messages on their way are lost.
    Moved,
    /// The network reported an error.
    Trouble(io::Error),
}

/// Events that the waiter watches the socket for.
#[derive(Debug)]
pub(super) struct SocketInterest {
    for_room: bool,
}

impl SocketInterest {
    /// Begins to watch a socket.
    pub(super) fn begin(waiter: &Waiter, socket: &impl AsFd, for_room: bool) -> io::Result<Self> {
        waiter.add(socket, SOCKET, Interest::in_room_too(for_room))?;
        Ok(Self { for_room })
    }

    /// Enables or disables watching the socket for room too.
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
