//! TCP connections that move to another machine (`TCP_REPAIR` of Linux, see the documentation of CRIU).
//!
//! A [`Frozen`] connection sends nothing, and its other end notices nothing. Its [`Image`] is all that another kernel
//! needs to go on with it, once packets come there. First packets to it must be dropped ([`crate::hold`]): a frozen
//! socket still acknowledges what comes, and the other end would never send that again.
//!
//! In a restored connection the kernel knows of no end, as it can be given none: what has ended before is part of the
//! image, for whoever uses the connection ([`Image::state`]).

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};
use socket2::{SockAddr, Socket};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::socket::{canonical, enlarge_buffers, set_option, set_value};
use crate::transparent::{TransparentStream, new_socket, set_transparent};

/// Values of `TCP_REPAIR`.
const ON: i32 = 1;
const OFF: i32 = 0;
/// Values of `TCP_REPAIR_QUEUE`.
const RECEIVE_QUEUE: i32 = 1;
const SEND_QUEUE: i32 = 2;
/// Bits of `tcpi_options` in `tcp_info`.
const TIMESTAMPS: u8 = 1;
const SACK: u8 = 2;
const WINDOW_SCALE: u8 = 4;
/// Kinds of TCP options (RFC 9293 §3.2, RFC 7323, RFC 2018).
const KIND_MSS: u32 = 2;
const KIND_WINDOW_SCALE: u32 = 3;
const KIND_SACK: u32 = 4;
const KIND_TIMESTAMPS: u32 = 8;
/// `SIOCOUTQNSD`: bytes of the send queue that were never sent. A FIN counts as one.
const UNSENT: libc::Ioctl = 0x894b;
/// `SO_BUF_LOCK`: whether the sizes of buffers are fixed.
const BUFFER_LOCK: i32 = 72;
/// Largest window scale (RFC 7323 §2.3), and the longest queue that is restored, in bytes.
const MOST_WINDOW_SCALE: u8 = 14;
const LONGEST_QUEUE: usize = 1 << 30;

/// State of a connection in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// True if the other end has sent its FIN, and nothing follows what was received.
    pub has_ended: bool,
    /// True if this end has closed its sending direction.
    pub is_finishing: bool,
    /// True if the other end has acknowledged this end's FIN.
    pub is_finished: bool,
}

/// A connection with which another kernel can go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    local: SocketAddr,
    remote: SocketAddr,
    congestion_control: String,
    state: State,
    /// Sequence number of the first byte that is not acknowledged, and of the first one that is not read.
    sequence_numbers: [u32; 2],
    sent: Bytes,
    unsent: Bytes,
    received: Bytes,
    mss: u32,
    /// Bits of `tcpi_options`.
    options: u8,
    /// Shift of the other end's windows, and of this end's.
    window_scales: [u8; 2],
    /// Clock of this end's timestamps.
    clock: u32,
    window: Window,
}

/// Windows of both directions (`struct tcp_repair_window`).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[serde(deny_unknown_fields)]
#[repr(C)]
struct Window {
    /// Sequence number of the segment with the latest window of the other end, and that window, and the largest one.
    update: u32,
    send: u32,
    most: u32,
    /// This end's window, and the sequence number at which it begins.
    receive: u32,
    begin: u32,
}

/// A TCP option that was agreed upon (`struct tcp_repair_opt`).
#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct Agreed {
    kind: u32,
    value: u32,
}

/// First bytes of `struct tcp_info`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Info {
    state: u8,
    unused: [u8; 4],
    options: u8,
    window_scales: u8,
    flags: u8,
}

/// Returns the two ends of a connection, this host's first; none if it is over.
pub fn ends(connection: &impl AsFd) -> Option<[SocketAddr; 2]> {
    let socket = socket2::SockRef::from(connection);
    let address = |address: SockAddr| address.as_socket().map(canonical);
    let local = socket.local_addr().ok().and_then(address)?;
    Some([local, socket.peer_addr().ok().and_then(address)?])
}

/// A connection that stands still. When dropped, it disappears, and its other end gets no segment.
#[derive(Debug)]
pub struct Frozen {
    socket: Socket,
}

impl Frozen {
    /// Freezes a connection. It needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// System errors.
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let socket = Socket::from(descriptor);
        set(&socket, libc::TCP_REPAIR, &ON)?;
        Ok(Self { socket })
    }

    /// Returns its image; none if both directions have ended and nothing is left of it.
    ///
    /// # Errors
    /// The error of the connection, if it has one; system errors; `InvalidData` if a queue changes meanwhile.
    pub fn image(&self) -> io::Result<Option<Image>> {
        let socket = &self.socket;
        let info: Info = get(socket, libc::TCP_INFO)?;
        let Some(state) = state(info.state)? else {
            // An open connection may have an error that does not end it, such as a route that is missing by now.
            return socket.take_error()?.map_or(Ok(None), Err);
        };
        let [local, remote] = ends(socket).ok_or(Errno::NOTCONN)?;
        let name = socket.tcp_congestion()?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let clock: u32 = get(socket, libc::TCP_TIMESTAMP)?;
        let (sent, unsent, unacknowledged) = self.send_queue(state)?;
        let (received, unread) = self.receive_queue()?;
        Ok(Some(Image {
            local,
            remote,
            congestion_control: String::from_utf8_lossy(name).into_owned(),
            state,
            sequence_numbers: [unacknowledged, unread],
            sent,
            unsent,
            received,
            mss: get(socket, libc::TCP_MAXSEG)?,
            options: info.options,
            window_scales: [info.window_scales & 15, info.window_scales >> 4],
            clock,
            window: get(socket, libc::TCP_REPAIR_WINDOW)?,
        }))
    }

    /// Returns what was sent and is not acknowledged, what was not sent, and the sequence number with which both begin.
    fn send_queue(&self, state: State) -> io::Result<(Bytes, Bytes, u32)> {
        let end = self.choose(SEND_QUEUE)?;
        let all = outgoing(&self.socket, libc::TIOCOUTQ)?;
        let unsent = outgoing(&self.socket, UNSENT)?;
        let fin = usize::from(state.is_finishing && !state.is_finished);
        let bytes = self.peek(all.checked_sub(fin).ok_or(Errno::INVAL)?)?;
        // An unsent FIN is behind all data.
        let unsent = unsent.saturating_sub(fin).min(bytes.len());
        let sent = bytes.slice(..bytes.len() - unsent);
        let unsent = bytes.slice(sent.len()..);
        Ok((sent, unsent, end.wrapping_sub(all as u32)))
    }

    /// Returns what was received and not read, and the sequence number with which that begins. A FIN behind it counts
    /// as if it were before it, as the kernel at the other machine shall take it for received.
    fn receive_queue(&self) -> io::Result<(Bytes, u32)> {
        let end = self.choose(RECEIVE_QUEUE)?;
        let bytes = self.peek(rustix::io::ioctl_fionread(&self.socket)? as usize)?;
        let begin = end.wrapping_sub(bytes.len() as u32);
        Ok((bytes, begin))
    }

    /// Chooses a queue; returns the sequence number behind it.
    fn choose(&self, queue: i32) -> io::Result<u32> {
        set(&self.socket, libc::TCP_REPAIR_QUEUE, &queue)?;
        get(&self.socket, libc::TCP_QUEUE_SEQ)
    }

    /// Returns the content of the chosen queue, which has this length.
    fn peek(&self, length: usize) -> io::Result<Bytes> {
        let mut bytes = Vec::with_capacity(length);
        if length > 0 {
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            rustix::net::recv(&self.socket, spare_capacity(&mut bytes), flags)?;
        }
        if bytes.len() != length {
            let reason = format!("a queue has {} bytes in place of {length}", bytes.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(bytes.into())
    }

    /// Lets it go on here, and resets it.
    pub fn reset(self) {
        let lingers = self.socket.set_linger(Some(Duration::ZERO));
        if let Err(error) = lingers.and_then(|()| set(&self.socket, libc::TCP_REPAIR, &OFF)) {
            tracing::warn!("a connection is not reset, and its other end may wait: {error}");
        }
    }
}

impl Image {
    /// Returns this host's end of the connection.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Returns the state of the connection when it was frozen.
    pub fn state(&self) -> State {
        self.state
    }

    /// Takes out what was written and not sent yet: it is to be written again.
    pub fn take_unsent(&mut self) -> Bytes {
        std::mem::take(&mut self.unsent)
    }

    /// Goes on with the connection on this host, which need not have its address. It needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// System errors, e.g. if this kernel has not its congestion control; `InvalidData` if it is no sound image.
    pub fn restore(&self) -> io::Result<TransparentStream> {
        let longest = self.sent.len().max(self.received.len());
        let scale = self.window_scales.into_iter().max();
        if longest > LONGEST_QUEUE || scale > Some(MOST_WINDOW_SCALE) {
            let reason = "the image of a connection has impossible lengths";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let socket = new_socket(self.remote)?;
        set_transparent(&socket, self.remote)?;
        // Repair reuses a port by force, which this would undo later.
        socket.set_reuse_address(true)?;
        set(&socket, libc::TCP_REPAIR, &ON)?;
        socket.set_tcp_congestion(self.congestion_control.as_bytes())?;
        // The kernel derives the largest window from the buffer.
        enlarge_buffers(&socket, longest + self.window.receive as usize)?;
        set(&socket, libc::TCP_MAXSEG, &self.mss)?;
        socket.bind(&self.local.into())?;
        let [unacknowledged, unread] = self.sequence_numbers;
        for (queue, begin) in [(SEND_QUEUE, unacknowledged), (RECEIVE_QUEUE, unread)] {
            set(&socket, libc::TCP_REPAIR_QUEUE, &queue)?;
            set(&socket, libc::TCP_QUEUE_SEQ, &begin)?;
        }
        socket.connect(&self.remote.into())?;
        set(&socket, libc::TCP_REPAIR_OPTIONS, &self.agreed()[..])?;
        set(&socket, libc::TCP_TIMESTAMP, &self.clock)?;
        for (queue, bytes) in [(RECEIVE_QUEUE, &self.received), (SEND_QUEUE, &self.sent)] {
            set(&socket, libc::TCP_REPAIR_QUEUE, &queue)?;
            fill(&socket, bytes)?;
        }
        set(&socket, libc::TCP_REPAIR_WINDOW, &self.window)?;
        // From here on their sizes follow the connection's rate, as before; older kernels leave them.
        let _ = set_option(&socket, libc::SOL_SOCKET, BUFFER_LOCK, 0);
        let stream = TransparentStream::resume(socket.into())?;
        // This sends a probe, so that the other end says what it has.
        set(stream.socket(), libc::TCP_REPAIR, &OFF)?;
        Ok(stream)
    }

    fn agreed(&self) -> Vec<Agreed> {
        let [theirs, ours] = self.window_scales.map(u32::from);
        let mut agreed = vec![Agreed {
            kind: KIND_MSS,
            value: self.mss,
        }];
        let optional = [
            (WINDOW_SCALE, KIND_WINDOW_SCALE, theirs | ours << 16),
            (SACK, KIND_SACK, 0),
            (TIMESTAMPS, KIND_TIMESTAMPS, 0),
        ];
        let chosen = optional
            .into_iter()
            .filter(|(bit, _, _)| self.options & bit != 0);
        agreed.extend(chosen.map(|(_, kind, value)| Agreed { kind, value }));
        agreed
    }
}

/// Returns what has ended in a state of the kernel; none if all has.
fn state(of_kernel: u8) -> io::Result<Option<State>> {
    // The numbers are those of tcp_states.h.
    let [has_ended, is_finishing, is_finished] = match of_kernel {
        1 => [false, false, false],    // ESTABLISHED
        4 => [false, true, false],     // FIN-WAIT-1
        5 => [false, true, true],      // FIN-WAIT-2
        8 => [true, false, false],     // CLOSE-WAIT
        9 | 11 => [true, true, false], // LAST-ACK, CLOSING
        6 | 7 => return Ok(None),      // TIME-WAIT, CLOSE
        _ => return Err(Errno::NOTCONN.into()),
    };
    Ok(Some(State {
        has_ended,
        is_finishing,
        is_finished,
    }))
}

/// Puts bytes into the chosen queue.
fn fill(socket: &Socket, mut bytes: &[u8]) -> io::Result<()> {
    let mut piece = bytes.len();
    while !bytes.is_empty() {
        // The kernel puts a piece of the receive queue into one buffer, for which it may have no room.
        match socket.send(&bytes[..piece.min(bytes.len())]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if piece > 1 && is_too_large(&error) => piece = piece.div_ceil(2),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_too_large(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOMEM | Errno::NOBUFS | Errno::AGAIN)
    )
}

/// Returns what this request says of the send queue.
fn outgoing(socket: &Socket, request: libc::Ioctl) -> io::Result<usize> {
    let mut count: libc::c_int = 0;
    // SAFETY: the request writes one integer that lives through it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut count) };
    match result {
        0 => Ok(usize::try_from(count).unwrap_or_default()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn get<T: FromZeros + IntoBytes>(socket: &Socket, option: i32) -> io::Result<T> {
    let mut value = T::new_zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the call writes at most `length` bytes to a value that lives through it, and any bytes make such a value.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    match result {
        0 if length as usize == size_of::<T>() => Ok(value),
        0 => Err(Errno::NOPROTOOPT.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set<T: IntoBytes + Immutable + ?Sized>(
    socket: &Socket,
    option: i32,
    value: &T,
) -> io::Result<()> {
    set_value(socket, libc::IPPROTO_TCP, option, value)
}
