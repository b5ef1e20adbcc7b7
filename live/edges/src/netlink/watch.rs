//! Notification of changes of this host's network.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::NetlinkError;

/// Changes of links, and of addresses and routes in both IP versions (rtnetlink(7)).
const GROUPS: i32 = libc::RTMGRP_LINK
    | libc::RTMGRP_IPV4_IFADDR
    | libc::RTMGRP_IPV4_ROUTE
    | libc::RTMGRP_IPV6_IFADDR
    | libc::RTMGRP_IPV6_ROUTE;

/// A descriptor that is readable when links, addresses or routes have changed in the network namespace of the thread
/// that opened it.
pub struct NetworkWatch(Socket);

impl NetworkWatch {
    /// Starts to watch.
    pub fn open() -> Result<Self, NetlinkError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind(&SocketAddr::new(0, GROUPS as u32))?;
            socket.set_non_blocking(true)?;
            Ok(socket)
        };
        open().map(Self).map_err(NetlinkError::Socket)
    }

    /// Returns true if anything has changed since the last call. It does not report the change: list the objects again
    /// for that. Never blocks.
    pub fn changed(&mut self) -> io::Result<bool> {
        let mut changed = false;
        loop {
            // The message is cut to the size of the buffer; only its arrival matters.
            match recv(&self.0, &mut [0; 1], RecvFlags::DONTWAIT) {
                // NOBUFS: there were more changes than the socket could hold.
                Ok(_) | Err(Errno::NOBUFS) => changed = true,
                Err(Errno::AGAIN) => return Ok(changed),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for NetworkWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
