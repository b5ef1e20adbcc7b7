//! A stream that a socket of the kernel carries.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes};
use edges::transparent::TransparentStream;
use redirector::Chunks;

use super::stream::Look;

/// A socket, and what it has no room for yet.
#[derive(Debug)]
pub(super) struct KernelStream {
    socket: TransparentStream,
    pending: VecDeque<Bytes>,
    /// Nothing comes after what can be read.
    pub(super) ended: bool,
    /// Nothing will be written after what is pending.
    finishing: bool,
    /// The other side has been told so.
    finished: bool,
}

impl KernelStream {
    pub(super) fn new(socket: TransparentStream) -> Self {
        Self {
            socket,
            pending: VecDeque::new(),
            ended: false,
            finishing: false,
            finished: false,
        }
    }

    pub(super) fn socket(&self) -> &TransparentStream {
        &self.socket
    }

    /// What can be read.
    ///
    /// # Errors
    /// That of the connection, once all that came before it is read.
    pub(super) fn look(&self) -> io::Result<Look> {
        match self.socket.available()? {
            0 if self.ended => self.socket.take_error().map(|()| Look::End),
            0 => Ok(Look::Nothing),
            count => Ok(Look::Bytes(count)),
        }
    }

    /// Reads at most `count` bytes.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) fn read(&self, count: u64) -> io::Result<Chunks> {
        let bytes = self.socket.receive(count as usize)?;
        Ok(Bytes::from(bytes).into())
    }

    /// Writes `content`, now or when there is room.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) fn write(&mut self, content: &Chunks) -> io::Result<()> {
        self.pending.extend(content.iter().cloned());
        self.flush()
    }

    /// Nothing more will be written.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.finishing = true;
        self.flush()
    }

    /// Writes what there is room for.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            let sent = self
                .socket
                .send(self.pending.iter().map(|bytes| &bytes[..]))?;
            if sent == 0 {
                return Ok(());
            }
            self.forget(sent);
        }
        if self.finishing && !self.finished {
            self.socket.finish()?;
            self.finished = true;
        }
        Ok(())
    }

    /// Whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether its end has been written or waits to be.
    pub(super) fn is_finishing(&self) -> bool {
        self.finishing
    }

    /// Whether all is written, the end as well.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Leaves the rest to the kernel.
    pub(super) fn let_go(self) {
        // If it cannot be, it is reset, and the other side is not deceived.
        let _ = self.socket.let_go();
    }

    fn forget(&mut self, mut sent: usize) {
        while let Some(first) = self.pending.front_mut() {
            let part = first.len().min(sent);
            first.advance(part);
            sent -= part;
            if !first.is_empty() {
                return;
            }
            self.pending.pop_front();
        }
    }
}
