//! Errors that the network reports for datagrams of a UDP socket: the kernel's error queue (`IP_RECVERR`, ip(7)).

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::ptr;

use rustix::io::Errno;
use socket2::{SockAddr, Socket};

use crate::socket::{canonical, set_option};

/// Room for the control message of one report, with the address of the reporting host.
const CONTROL: usize = 256;

/// One report of the network. Any host that has seen or guessed addresses and ports can cause it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// A closed port.
    PortClosed(SocketAddr),
    /// A datagram was too long.
    TooLong {
        /// Destination of the datagram.
        to: SocketAddr,
        /// Largest IP packet of the path, in bytes, as reported.
        most: usize,
    },
    /// Any other report.
    Other,
    /// This host did not send a datagram; the failed call reported this too.
    Local,
}

/// Enables the error queue of `socket`.
pub(crate) fn enable(socket: &Socket, is_ipv6: bool) -> io::Result<()> {
    let result = set_option(socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1);
    // A socket for IPv6 only has no such option.
    if !is_ipv6 {
        result?;
    }
    if is_ipv6 {
        set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1)?;
    }
    Ok(())
}

/// Takes the oldest report, if there is one.
pub(crate) fn next(socket: &Socket) -> Option<Report> {
    // The content of the datagram is not read.
    let mut content = [0_u8; 1];
    let mut control = [0_u64; CONTROL / size_of::<u64>()];
    let mut part = libc::iovec {
        iov_base: content.as_mut_ptr().cast(),
        iov_len: content.len(),
    };
    let mut error: Option<libc::sock_extended_err> = None;
    // SAFETY: `msghdr` is plain data; the kernel writes into buffers of the lengths given, which live through the
    // call, and the name is that of the address family that it says. Control messages are walked by libc's macros
    // within what the kernel wrote, and the error's structure is read without regard to alignment, if it is whole.
    let ((), to) = unsafe {
        SockAddr::try_init(|name, name_length| {
            let mut message: libc::msghdr = MaybeUninit::zeroed().assume_init();
            message.msg_name = name.cast();
            message.msg_namelen = *name_length;
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = CONTROL as _;
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            if libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) < 0 {
                return Err(io::Error::last_os_error());
            }
            *name_length = message.msg_namelen;
            let mut header = libc::CMSG_FIRSTHDR(&raw const message);
            while !header.is_null() {
                let kind = ((*header).cmsg_level, (*header).cmsg_type);
                let whole = libc::CMSG_LEN(size_of::<libc::sock_extended_err>() as _) as usize;
                if is_report(kind) && (*header).cmsg_len as usize >= whole {
                    error = Some(ptr::read_unaligned(libc::CMSG_DATA(header).cast()));
                }
                header = libc::CMSG_NXTHDR(&raw const message, header);
            }
            Ok(())
        })
    }
    .ok()?;
    Some(error.map_or(Report::Other, |error| read(to.as_socket(), &error)))
}

fn is_report(kind: (libc::c_int, libc::c_int)) -> bool {
    kind == (libc::IPPROTO_IP, libc::IP_RECVERR) || kind == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
}

/// Returns the report for an error of a datagram to an address.
fn read(to: Option<SocketAddr>, error: &libc::sock_extended_err) -> Report {
    if error.ee_origin == libc::SO_EE_ORIGIN_LOCAL {
        return Report::Local;
    }
    let is = |errno: Errno| i32::try_from(error.ee_errno) == Ok(errno.raw_os_error());
    match to.map(canonical) {
        Some(to) if is(Errno::CONNREFUSED) => Report::PortClosed(to),
        Some(to) if is(Errno::MSGSIZE) => Report::TooLong {
            to,
            most: error.ee_info as usize,
        },
        Some(_) | None => Report::Other,
    }
}
