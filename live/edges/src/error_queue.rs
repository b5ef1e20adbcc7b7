//! What the network says of datagrams that a socket sent (`MSG_ERRQUEUE`, ip(7)).

use std::io;
use std::mem::zeroed;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::ptr;

use socket2::{SockAddr, Socket};

/// Room for what comes beside an error, in words: two addresses and the error.
const CONTROL_WORDS: usize = 64;

/// An error of one datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NetworkError {
    /// Where the datagram went.
    pub(crate) to: Option<SocketAddr>,
    /// The system's number for it.
    pub(crate) errno: i32,
    /// Whether this host says it, and not somebody in the network, who may be anybody.
    pub(crate) is_local: bool,
    /// What beside: of `EMSGSIZE` the MTU, in bytes.
    pub(crate) info: u32,
}

/// Takes the next error from the queue of `socket`, if there is one.
pub(crate) fn next(socket: &Socket) -> Option<NetworkError> {
    let mut control = [0_u64; CONTROL_WORDS];
    // SAFETY: all zeroes are a value of this structure of numbers and pointers.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    let receive = |address: *mut socket2::SockAddrStorage, length: *mut libc::socklen_t| {
        header.msg_name = address.cast();
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: both pointers are valid in this call; the kernel writes no more than the lengths beside them say, and
        // `control` lives longer than `header`.
        let count = unsafe {
            header.msg_namelen = *length;
            libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags)
        };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the pointer is valid in this call.
        unsafe { *length = header.msg_namelen };
        Ok(())
    };
    // SAFETY: `receive` sets the address and its length, or leaves it empty with a length of zero.
    let (_, address) = unsafe { SockAddr::try_init(receive) }.ok()?;
    let error = extended(&header);
    let to = address.as_socket();
    let unknown = NetworkError {
        to,
        errno: 0,
        is_local: false,
        info: 0,
    };
    Some(error.map_or(unknown, |error| NetworkError {
        to,
        errno: error.ee_errno as i32,
        is_local: error.ee_origin == libc::SO_EE_ORIGIN_LOCAL,
        info: error.ee_info,
    }))
}

/// The error among the control messages.
fn extended(header: &libc::msghdr) -> Option<libc::sock_extended_err> {
    let kinds = [
        (libc::IPPROTO_IP, libc::IP_RECVERR),
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
    ];
    // SAFETY: the kernel has filled in the header and what it points to, which lives as long as the caller's borrow.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR give null or a message that lies within the control room.
        let (level, kind, length) = unsafe {
            (
                (*message).cmsg_level,
                (*message).cmsg_type,
                (*message).cmsg_len as usize,
            )
        };
        // SAFETY: the macro only computes.
        let least = unsafe { libc::CMSG_LEN(size_of::<libc::sock_extended_err>() as u32) } as usize;
        if kinds.contains(&(level, kind)) && length >= least {
            // SAFETY: the message has room for the structure, as was just checked.
            return Some(unsafe { ptr::read_unaligned(libc::CMSG_DATA(message).cast()) });
        }
        // SAFETY: `message` came from the same header.
        message = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
    None
}
