//! What the network says of datagrams that a UDP socket sent: the kernel's error queue (`IP_RECVERR`, ip(7)).

use std::io;
use std::mem::{MaybeUninit, size_of, size_of_val};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};

use socket2::{SockAddr, Socket};

use crate::udp::canonical;

/// Room for the control message of one report, with the address of who reports.
const CONTROL: usize = 256;

/// One report. Anybody who has seen or guessed addresses and ports can make the network send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// Where the datagram was to go.
    pub(crate) to: SocketAddr,
    /// Why it did not, as an errno.
    pub(crate) errno: i32,
}

/// Has the kernel keep reports for `socket`.
pub(crate) fn enable(socket: &Socket, is_ipv6: bool) -> io::Result<()> {
    set(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_RECVERR).or_else(|error| match is_ipv6 {
        // One that takes IPv6 alone has no such option.
        true => Ok(()),
        false => Err(error),
    })?;
    if is_ipv6 {
        set(socket.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_RECVERR)?;
    }
    Ok(())
}

fn set(socket: RawFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the call reads one integer that lives through it.
    let result = unsafe {
        libc::setsockopt(
            socket,
            level,
            option,
            (&raw const on).cast(),
            size_of_val(&on) as _,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Takes the oldest report, if there is any; one that says neither where nor why is passed over.
pub(crate) fn take(socket: &Socket) -> io::Result<Option<Report>> {
    loop {
        match take_one(socket) {
            Ok(Some(report)) => return Ok(Some(report)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

fn take_one(socket: &Socket) -> io::Result<Option<Report>> {
    // What was sent is not looked at.
    let mut content = [0_u8; 1];
    let mut control = [0_u64; CONTROL / size_of::<u64>()];
    let mut part = libc::iovec {
        iov_base: content.as_mut_ptr().cast(),
        iov_len: content.len(),
    };
    let mut errno = None;
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
                    let data = libc::CMSG_DATA(header).cast::<libc::sock_extended_err>();
                    errno = i32::try_from(data.read_unaligned().ee_errno).ok();
                }
                header = libc::CMSG_NXTHDR(&raw const message, header);
            }
            Ok(())
        })
    }?;
    let report = to.as_socket().zip(errno);
    Ok(report.map(|(to, errno)| Report {
        to: canonical(to),
        errno,
    }))
}

fn is_report(kind: (libc::c_int, libc::c_int)) -> bool {
    kind == (libc::IPPROTO_IP, libc::IP_RECVERR) || kind == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
}
