//! Notifications to a supervisor, such as systemd (`sd_notify(3)`).
//!
//! The loop itself sends them, so that a supervisor with a watchdog restarts a daemon whose loop hangs, even if its
//! other threads live.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use edges::parcel::{Parcel, pass};
use units::{Duration, Instant};

/// The supervisor, and the time of the next sign of life.
#[derive(Debug)]
pub struct Supervisor {
    socket: UnixDatagram,
    /// Half of the time after which the supervisor takes this process for dead, if it watches.
    interval: Option<Duration>,
    next: Instant,
}

impl Supervisor {
    /// Returns the supervisor that the environment names, if any (`NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`).
    ///
    /// # Errors
    /// If its socket does not exist.
    pub fn from_environment() -> io::Result<Option<Self>> {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
            return Ok(None);
        };
        let number = |variable| std::env::var(variable).ok()?.parse::<u64>().ok();
        let pid = number("WATCHDOG_PID");
        let is_watched = pid.is_none_or(|pid| pid == u64::from(std::process::id()));
        let limit = number("WATCHDOG_USEC").filter(|limit| is_watched && *limit > 0);
        Self::at(&name, limit.map(Duration::from_micros)).map(Some)
    }

    /// Returns the supervisor at a socket, which begins with '@' if it is no path; it takes a process for dead that it
    /// does not hear from for `limit`.
    ///
    /// # Errors
    /// If the socket does not exist.
    pub fn at(name: &OsStr, limit: Option<Duration>) -> io::Result<Self> {
        let address = match name.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            interval: limit.map(|limit| limit / 2),
            next: Instant::ZERO,
        })
    }

    /// Reports that this process serves from now on.
    pub(crate) fn begin(&self) {
        self.say("READY=1");
    }

    /// Reports that this process is about to end.
    pub(crate) fn end(&self) {
        self.say("STOPPING=1");
    }

    /// Returns the time of the next sign of life, if the supervisor watches.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.interval.map(|_| self.next)
    }

    /// Gives a sign of life if it is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Some(interval) = self.interval
            && self.next <= now
        {
            self.next = now + interval;
            self.say("WATCHDOG=1");
        }
    }

    /// Gives it a copy of a parcel to keep for the next process, under this name (`FDSTORE`). Returns false if it does
    /// not take the message; true does not mean that it keeps it, as it may be configured not to.
    pub(crate) fn store(&self, parcel: &Parcel, name: &str) -> bool {
        let message = format!("FDSTORE=1\nFDNAME={name}");
        self.send(&message, &[parcel.as_fd()])
    }

    /// Lets it drop all parcels with this name.
    pub(crate) fn forget(&self, name: &str) {
        self.say(&format!("FDSTOREREMOVE=1\nFDNAME={name}"));
    }

    fn say(&self, message: &str) {
        self.send(message, &[]);
    }

    /// Sends a message. A supervisor that is gone, or has no room for it, goes without.
    fn send(&self, message: &str, files: &[BorrowedFd<'_>]) -> bool {
        let sent = pass(&self.socket, message.as_bytes(), files);
        if let Err(error) = &sent {
            tracing::debug!("the supervisor does not take {message:?}: {error}");
        }
        sent.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSliceMut;
    use std::mem::MaybeUninit;
    use std::os::unix::net::UnixStream;

    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

    use super::*;

    /// Returns a supervisor, and its own end.
    fn supervisor() -> (Supervisor, UnixDatagram) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        (Supervisor::at(path.as_os_str(), None).unwrap(), socket)
    }

    #[test]
    fn a_supervisor_is_given_a_parcel_and_forgets_it() {
        let (supervisor, socket) = supervisor();
        let parcel = Parcel::pack(b"state", Vec::new()).unwrap();
        assert!(supervisor.store(&parcel, "streams"));
        drop(parcel);

        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [0; 64];
        let mut pieces = [IoSliceMut::new(&mut bytes)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let length = recvmsg(&socket, &mut pieces, &mut control, flags)
            .unwrap()
            .bytes;
        assert_eq!(&bytes[..length], b"FDSTORE=1\nFDNAME=streams");
        let mut kept = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        // It passes the parcel on to the next process.
        let kept = kept.next().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        pass(&ours, &[0], &[kept.as_fd()]).unwrap();
        let parcel = Parcel::receive(&theirs).unwrap().unwrap();
        assert_eq!(parcel.unpack().unwrap().0, b"state");

        supervisor.forget("streams");
        let length = socket.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"FDSTOREREMOVE=1\nFDNAME=streams");
    }

    #[test]
    fn a_supervisor_that_is_gone_takes_no_parcel() {
        let (supervisor, socket) = supervisor();
        drop(socket);
        let parcel = Parcel::pack(b"state", Vec::new()).unwrap();
        assert!(!supervisor.store(&parcel, "streams"));
        supervisor.forget("streams");
        supervisor.begin();
    }
}
