//! One connection to a socket of signals.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use signals::{Decoder, Refusal, Signal};
use socket2::{Domain, SockAddr, Socket, Type};
use thiserror::Error;

/// Why nothing more comes.
#[derive(Debug, Error)]
pub enum SubscriptionError {
    /// The other side has ended, or has sent us away because we did not read.
    #[error("the connection was closed from the other side")]
    Ended,
    /// What came is not believed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The system's reason.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Hears what one socket of signals tells.
pub struct Subscription {
    stream: UnixStream,
    decoder: Decoder,
}

impl Subscription {
    /// Connects to the socket at `path`, without waiting for a daemon that lets nobody in.
    ///
    /// # Errors
    /// `NotFound` or `ConnectionRefused` where nobody listens, `WouldBlock` where too many wait to be let in.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)?;
        socket.connect(&SockAddr::unix(path)?)?;
        Ok(Self {
            stream: UnixStream::from(OwnedFd::from(socket)),
            decoder: Decoder::default(),
        })
    }

    /// Gives `hear` what has come since the last call; never blocks.
    ///
    /// # Errors
    /// Why nothing more will come.
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
