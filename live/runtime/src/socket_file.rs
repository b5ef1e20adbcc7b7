//! A listening Unix stream socket at a path.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A non-blocking listening socket; its file is removed when this is dropped.
pub(crate) struct SocketFile {
    listener: UnixListener,
    path: PathBuf,
    /// Purpose of the socket, for messages.
    what: &'static str,
}

impl SocketFile {
    /// Listens at `path`, and replaces a socket that a dead process left. Users who may write the file by `mode` may
    /// connect; `what` is the purpose of the socket, for messages.
    ///
    /// # Errors
    /// An error names the path; `AddrInUse` if a living process answers there.
    pub(crate) fn bind(path: &Path, mode: u32, what: &'static str) -> io::Result<Self> {
        let context = |error: io::Error| {
            let path = path.display();
            let message = format!("cannot listen on the {what} socket {path}: {error}");
            io::Error::new(error.kind(), message)
        };
        if UnixStream::connect(path).is_ok() {
            let error = io::Error::new(io::ErrorKind::AddrInUse, "another process answers there");
            return Err(context(error));
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(context(error)),
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(context)?;
        let file = Self {
            listener,
            path: path.into(),
            what,
        };
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).map_err(context)?;
        file.listener.set_nonblocking(true).map_err(context)?;
        Ok(file)
    }

    /// Accepts the next waiting connection, if there is one; it does not block either.
    pub(crate) fn accept(&self) -> Option<UnixStream> {
        let accepted = self.listener.accept().and_then(|(stream, _)| {
            stream.set_nonblocking(true)?;
            Ok(stream)
        });
        match accepted {
            Ok(stream) => Some(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            // The client is gone, or no descriptors are left: the next wait reports it.
            Err(error) => {
                tracing::warn!("cannot accept on the {} socket: {error}", self.what);
                None
            }
        }
    }
}

impl AsFd for SocketFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If the file is gone already, nothing is left to do.
        let _ = std::fs::remove_file(&self.path);
    }
}
