//! Options, errors and addresses of sockets.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

use rustix::io::Errno;
use rustix::net::sockopt;
use socket2::Socket;
use zerocopy::{Immutable, IntoBytes};

/// Requests buffers of `size`, above the system's limit if that is permitted.
pub(crate) fn enlarge_buffers(socket: &Socket, size: usize) -> io::Result<()> {
    let size = size.min(i32::MAX as usize / 2);
    if sockopt::set_socket_send_buffer_size_force(socket, size).is_err() {
        socket.set_send_buffer_size(size)?;
    }
    if sockopt::set_socket_recv_buffer_size_force(socket, size).is_err() {
        socket.set_recv_buffer_size(size)?;
    }
    Ok(())
}

pub(crate) fn no_room(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// Returns true for an error that concerns a peer or a route, and not the socket.
pub(crate) fn is_news_of_the_network(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::CONNREFUSED
                | Errno::HOSTUNREACH
                | Errno::NETUNREACH
                | Errno::HOSTDOWN
                | Errno::NETDOWN
                | Errno::MSGSIZE
                | Errno::PROTO
                | Errno::NOPROTOOPT
                | Errno::ACCESS
                | Errno::NOBUFS
                | Errno::NOMEM
        )
    )
}

/// Converts an IPv4 address that an IPv6 socket shows as mapped to plain IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }
}

pub(crate) fn context(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Sets a socket option with an integer value.
pub(crate) fn set_option(socket: &Socket, level: i32, option: i32, value: i32) -> io::Result<()> {
    set_value(socket, level, option, &value)
}

/// Sets a socket option with any value.
pub(crate) fn set_value<T: IntoBytes + Immutable + ?Sized>(
    socket: &Socket,
    level: i32,
    option: i32,
    value: &T,
) -> io::Result<()> {
    let bytes = value.as_bytes();
    // SAFETY: the call reads as many bytes as there are, which live through it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            bytes.as_ptr().cast(),
            bytes.len() as _,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends messages without blocking; returns the number sent. It makes the system call itself, because musl's function
/// makes one for each message.
///
/// # Safety
/// Each header points to slices, and to an address if it names one, that live through the call.
pub(crate) unsafe fn send_messages(
    socket: &Socket,
    headers: &mut [libc::mmsghdr],
) -> io::Result<usize> {
    // SAFETY: the caller's promise. The kernel reads as many headers as there are.
    let count = unsafe {
        libc::syscall(
            libc::SYS_sendmmsg,
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            headers.len(),
            libc::MSG_DONTWAIT,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Receives messages without blocking, at most one for each header; returns their number.
///
/// # Safety
/// Each header points to slices, and to room for an address and control messages if it names some, that live through
/// the call and are borrowed by nobody else.
pub(crate) unsafe fn receive_messages(
    socket: &Socket,
    headers: &mut [libc::mmsghdr],
) -> io::Result<usize> {
    // SAFETY: the caller's promise. The kernel writes to as many headers as there are.
    let count = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            headers.len() as _,
            libc::MSG_DONTWAIT as _,
            std::ptr::null_mut(),
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}
