//! A UDP socket connected to one peer, for datagrams of any size: the network fragments them.
//!
//! [`crate::udp`] sends small frames in trains; this sends few and large messages, such as calls to a file server. It
//! passes them on in the buffers that the kernel has written.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use bytes::{Bytes, BytesMut};
use socket2::{Domain, Protocol, Socket, Type};

use crate::socket::{enlarge_buffers, receive_messages, send_messages, set_option};

/// Number of datagrams that one system call receives or sends.
const BATCH: usize = 16;
/// Room for the longest datagram, in bytes.
const ROOM: usize = 65_536;
/// Size of a buffer for arriving datagrams, in bytes; datagrams of at most `SMALL` bytes are copied, so that they do
/// not keep a buffer alive.
const CHUNK: usize = 4 * ROOM;
const SMALL: usize = 1_024;

/// A UDP socket that is connected to one peer; non-blocking. The network may fragment its datagrams, and they have
/// checksums.
pub struct ConnectedUdp {
    socket: Socket,
    local: SocketAddr,
    rooms: Vec<BytesMut>,
}

impl ConnectedUdp {
    /// Opens a socket at the local `port` (0: chosen by the kernel), connected to `peer`, with kernel buffers of
    /// `buffer` bytes each way, or as much as the system allows.
    ///
    /// # Errors
    /// System errors: the port is in use or not permitted, or there is no route to the peer.
    pub fn open(peer: SocketAddr, port: u16, buffer: usize) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        allow_fragments(&socket, peer)?;
        enlarge_buffers(&socket, buffer)?;
        socket.bind(&unspecified(peer, port).into())?;
        socket.connect(&peer.into())?;
        let local = socket.local_addr()?.as_socket();
        Ok(Self {
            socket,
            local: local.unwrap_or(unspecified(peer, port)),
            rooms: (0..BATCH).map(|_| BytesMut::new()).collect(),
        })
    }

    /// Sets the differentiated services code point of all datagrams (RFC 2474).
    ///
    /// # Errors
    /// System errors.
    pub fn mark(&self, code_point: u8) -> io::Result<()> {
        let (level, option) = match self.local {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        };
        set_option(&self.socket, level, option, i32::from(code_point) << 2)
    }

    /// Returns the local address and port, which the peer sees unless they are translated.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Receives the waiting datagrams, up to a batch, in order of arrival; returns their number. Never blocks.
    ///
    /// # Errors
    /// Errors reported by the network, each once, such as a closed port (`ECONNREFUSED`).
    pub fn receive(&mut self, sink: &mut impl FnMut(Bytes)) -> io::Result<usize> {
        let mut lengths = [0; BATCH];
        let count = match self.receive_messages(&mut lengths) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        for (room, length) in self.rooms.iter_mut().zip(lengths).take(count) {
            // SAFETY: the kernel has written `length` bytes, which is at most the room that it was given.
            unsafe { room.set_len(length) };
            if length <= SMALL {
                sink(Bytes::copy_from_slice(room));
                room.clear();
            } else {
                sink(room.split().freeze());
            }
        }
        Ok(count)
    }

    fn receive_messages(&mut self, lengths: &mut [usize; BATCH]) -> io::Result<usize> {
        let mut slices = self.rooms.iter_mut().map(|room| {
            if room.capacity() < ROOM {
                room.reserve(CHUNK);
            }
            libc::iovec {
                iov_base: room.spare_capacity_mut().as_mut_ptr().cast(),
                iov_len: ROOM,
            }
        });
        let empty = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        let mut slices: [libc::iovec; BATCH] =
            std::array::from_fn(|_| slices.next().unwrap_or(empty));
        let mut headers: [libc::mmsghdr; BATCH] =
            std::array::from_fn(|at| header(&raw mut slices[at]));
        // SAFETY: each header points to one slice, which points to `ROOM` bytes of a room's spare capacity; all of
        // them live through the call.
        let count = unsafe { receive_messages(&self.socket, &mut headers) }?;
        for (length, header) in lengths.iter_mut().zip(&headers) {
            *length = (header.msg_len as usize).min(ROOM);
        }
        Ok(count)
    }

    /// Sends from the front of `datagrams` until there is no more room, and removes those that were handled. Never
    /// blocks.
    ///
    /// # Errors
    /// Errors reported by the network. The datagram at the front is then lost, unless the error concerns an earlier one
    /// (`ECONNREFUSED`); the others can be sent.
    pub fn send(&mut self, datagrams: &mut VecDeque<Bytes>) -> io::Result<()> {
        while !datagrams.is_empty() {
            match self.send_messages(datagrams) {
                Ok(count) => drop(datagrams.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    if error.kind() != io::ErrorKind::ConnectionRefused {
                        datagrams.pop_front();
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn send_messages(&self, datagrams: &VecDeque<Bytes>) -> io::Result<usize> {
        let count = datagrams.len().min(BATCH);
        let mut slices: [libc::iovec; BATCH] = std::array::from_fn(|at| {
            let datagram: &[u8] = datagrams.get(at).map_or(&[], |datagram| datagram);
            libc::iovec {
                iov_base: datagram.as_ptr().cast_mut().cast(),
                iov_len: datagram.len(),
            }
        });
        let mut headers: [libc::mmsghdr; BATCH] =
            std::array::from_fn(|at| header(&raw mut slices[at]));
        // SAFETY: each header points to one slice, which points to a datagram's bytes; all of them live through the
        // call, which only reads them.
        unsafe { send_messages(&self.socket, &mut headers[..count]) }
    }
}

impl AsFd for ConnectedUdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns a message header with one slice.
fn header(slice: *mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: zeros are a valid header: no address, no slice, no control data.
    let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
    header.msg_hdr.msg_iov = slice;
    header.msg_hdr.msg_iovlen = 1;
    header
}

fn unspecified(peer: SocketAddr, port: u16) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, port).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, port).into(),
    }
}

/// Allows hosts and routers to fragment datagrams that are longer than a frame.
fn allow_fragments(socket: &Socket, peer: SocketAddr) -> io::Result<()> {
    let (level, option, value) = match peer {
        SocketAddr::V4(_) => (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_DONT,
        ),
        SocketAddr::V6(_) => (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_PMTUDISC_DONT,
        ),
    };
    set_option(socket, level, option, value)
}
