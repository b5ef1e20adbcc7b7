//! TCP sockets with addresses of other hosts (`IP_TRANSPARENT`, see tcp(7) and ip(7)), for transparent proxies.
//!
//! If a [`TransparentStream`] is dropped, or its process is killed, its connection is reset: an incomplete stream never
//! looks complete. Release a stream whose end was sent with [`TransparentStream::release`].

use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::net::RecvFlags;
use socket2::{Domain, Protocol, Socket, Type};
use wire::flow::Ends;

use crate::socket::set_option;

/// Largest number of connections that wait to be accepted.
const BACKLOG: i32 = 1_024;
/// Number of pieces that one system call sends.
const PIECES: usize = 16;

/// A listener for connections to other hosts, of both IP versions.
#[derive(Debug)]
pub struct TransparentListener {
    socket: Socket,
    port: u16,
}

impl TransparentListener {
    /// Opens a non-blocking listener at a port that the kernel chooses. Its connections use this congestion control,
    /// e.g. `reno`, or the system's.
    ///
    /// # Errors
    /// System errors: without `CAP_NET_ADMIN`, or with an unknown congestion control.
    pub fn open(congestion_control: Option<&str>) -> io::Result<Self> {
        let any = |address: IpAddr| SocketAddr::new(address, 0);
        let both = listen(any(Ipv6Addr::UNSPECIFIED.into()), congestion_control);
        let socket = match both {
            // This system has no IPv6.
            Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => {
                listen(any(Ipv4Addr::UNSPECIFIED.into()), congestion_control)?
            }
            both => both?,
        };
        let port = address_of(&socket.local_addr()?)?.port();
        Ok(Self { socket, port })
    }

    /// Returns the port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Accepts the next connection, if one waits.
    ///
    /// # Errors
    /// System errors; connections that broke before they were accepted are skipped.
    pub fn accept(&self) -> io::Result<Option<(TransparentStream, Ends)>> {
        loop {
            let (socket, source) = match self.socket.accept_raw() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            socket.set_cloexec(true)?;
            let stream = TransparentStream::of(socket)?;
            let ends = Ends {
                source: address_of(&source)?,
                destination: address_of(&stream.socket.local_addr()?)?,
            };
            return Ok(Some((stream, ends)));
        }
    }
}

impl AsFd for TransparentListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Options of an outgoing connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asks<'a> {
    /// Source address; `None` for one of this host.
    pub source: Option<SocketAddr>,
    /// Congestion control, e.g. `reno`; `None` for the system's.
    pub congestion_control: Option<&'a str>,
    /// Firewall mark of its packets.
    pub mark: Option<u32>,
}

/// A non-blocking connection.
#[derive(Debug)]
pub struct TransparentStream {
    socket: Socket,
}

impl TransparentStream {
    /// Begins a connection to `destination`. It is established when the stream has become writable and
    /// [`take_error`](Self::take_error) returns none.
    ///
    /// # Errors
    /// Errors that are known at once.
    pub fn connect(destination: SocketAddr, asks: &Asks<'_>) -> io::Result<Self> {
        let socket = new_socket(destination)?;
        set_congestion_control(&socket, asks.congestion_control)?;
        if let Some(mark) = asks.mark {
            socket.set_mark(mark)?;
        }
        if let Some(source) = asks.source {
            set_transparent(&socket, destination)?;
            // The source may use one port for many connections, or that of a connection that has just ended.
            socket.set_reuse_address(true)?;
            socket.bind(&source.into())?;
        }
        let stream = Self::of(socket)?;
        match stream.socket.connect(&destination.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(stream),
        }
    }

    /// Returns the connection of another process, as [`into_descriptor`](Self::into_descriptor) gave it.
    ///
    /// # Errors
    /// System errors: it is no socket of TCP.
    pub fn resume(descriptor: OwnedFd) -> io::Result<Self> {
        Self::of(Socket::from(descriptor))
    }

    /// Gives the connection to another process: it is reset when the last copy of the descriptor is closed.
    pub fn into_descriptor(self) -> OwnedFd {
        self.socket.into()
    }

    /// Returns its socket.
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    fn of(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        socket.set_linger(Some(Duration::ZERO))?;
        Ok(Self { socket })
    }

    /// Takes the pending error of the connection, if there is one.
    ///
    /// # Errors
    /// The pending error.
    pub fn take_error(&self) -> io::Result<()> {
        self.socket.take_error()?.map_or(Ok(()), Err)
    }

    /// Returns the number of bytes that can be received.
    ///
    /// # Errors
    /// System errors.
    pub fn available(&self) -> io::Result<u64> {
        Ok(rustix::io::ioctl_fionread(&self.socket)?)
    }

    /// Receives at most `count` bytes: none if none wait, also at the end of the stream.
    ///
    /// # Errors
    /// The error of the connection.
    pub fn receive(&self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(count);
        match rustix::net::recv(&self.socket, spare_capacity(&mut bytes), RecvFlags::empty()) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(bytes),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends as much of `pieces` as there is room for, and returns the number of bytes.
    ///
    /// # Errors
    /// The error of the connection.
    pub fn send<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); PIECES];
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(pieces) {
            *slice = IoSlice::new(piece);
            count += 1;
        }
        let flags = libc::MSG_NOSIGNAL;
        match self
            .socket
            .send_vectored_with_flags(&slices[..count], flags)
        {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            sent => sent,
        }
    }

    /// Closes the sending direction.
    ///
    /// # Errors
    /// The error of the connection.
    pub fn finish(&self) -> io::Result<()> {
        self.socket.shutdown(std::net::Shutdown::Write)
    }

    /// Leaves the connection to the kernel, which delivers the sent data; only after both sides have finished.
    ///
    /// # Errors
    /// System errors; the connection is then reset.
    pub fn release(self) -> io::Result<()> {
        self.socket.set_linger(None)
    }
}

impl AsFd for TransparentStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns true if an address is one of this host.
pub fn is_local(address: IpAddr) -> bool {
    let any = SocketAddr::new(address, 0);
    let bound = Socket::new(Domain::for_address(any), Type::DGRAM, Some(Protocol::UDP))
        .and_then(|socket| socket.bind(&any.into()));
    bound.is_ok()
}

fn listen(address: SocketAddr, congestion_control: Option<&str>) -> io::Result<Socket> {
    let socket = new_socket(address)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    set_transparent(&socket, address)?;
    set_congestion_control(&socket, congestion_control)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

pub(crate) fn new_socket(address: SocketAddr) -> io::Result<Socket> {
    let kind = Type::STREAM.nonblocking().cloexec();
    Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))
}

fn set_congestion_control(socket: &Socket, name: Option<&str>) -> io::Result<()> {
    name.map_or(Ok(()), |name| socket.set_tcp_congestion(name.as_bytes()))
}

pub(crate) fn set_transparent(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv4() {
        return socket.set_ip_transparent_v4(true);
    }
    set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_TRANSPARENT, 1)
}

/// Returns an Internet address; IPv4 is not mapped.
fn address_of(address: &socket2::SockAddr) -> io::Result<SocketAddr> {
    let address = address.as_socket().ok_or(io::ErrorKind::InvalidData)?;
    Ok(SocketAddr::new(address.ip().to_canonical(), address.port()))
}
