//! Notifications to a supervisor, such as systemd (`sd_notify(3)`).
//!
//! The loop itself sends them, so that a supervisor with a watchdog restarts a daemon whose loop hangs, even if its
//! other threads live.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

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

    /// Sends a message. A supervisor that is gone, or has no room for it, goes without.
    fn say(&self, message: &str) {
        if let Err(error) = self.socket.send(message.as_bytes()) {
            tracing::debug!("the supervisor does not take {message}: {error}");
        }
    }
}
