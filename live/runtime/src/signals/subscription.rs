//! One connection to a signals socket.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use signals::{Decoder, Refusal, Signal};
use socket2::{Domain, SockAddr, Socket, Type};
use thiserror::Error;

/// Reason why no more signals will come.
#[derive(Debug, Error)]
pub enum SubscriptionError {
    /// The daemon has ended, or has disconnected us because we did not read.
    #[error("the connection was closed from the other side")]
    Ended,
    /// A received line is not valid.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Error of the system.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// A subscriber of one signals socket.
pub struct Subscription {
    stream: UnixStream,
    decoder: Decoder,
}

impl Subscription {
    /// Connects to the socket at `path`, without waiting for a daemon that does not accept.
    ///
    /// # Errors
    /// `NotFound` or `ConnectionRefused` if there is no listener, `WouldBlock` if too many wait to be accepted.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)?;
        socket.connect(&SockAddr::unix(path)?)?;
        Ok(Self {
            stream: UnixStream::from(OwnedFd::from(socket)),
            decoder: Decoder::default(),
        })
    }

    /// Calls `hear` with the signals received since the last call; never blocks.
    ///
    /// # Errors
    /// If no more signals will come; the error is the reason.
    pub fn receive(&mut self, mut hear: impl FnMut(Signal)) -> Result<(), SubscriptionError> {
        let mut bytes = [0; 4_096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(SubscriptionError::Ended),
                Ok(count) => self.decoder.feed(&bytes[..count], &mut hear)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Subscription {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
