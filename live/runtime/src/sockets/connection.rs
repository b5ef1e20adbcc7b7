//! A connection of the kernel's TCP.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes};
use edges::transparent::TransparentStream;
use redirector::Chunks;

/// A socket, and the data that it has no room for yet. When dropped, it resets its connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: TransparentStream,
    pending: VecDeque<Bytes>,
    /// True if the other host has not answered yet.
    pub(super) is_connecting: bool,
    /// True if it is to be flushed.
    pub(super) is_unflushed: bool,
    /// True if nothing follows the data that can be read.
    pub(super) has_ended: bool,
    /// True if nothing follows the pending data.
    is_finishing: bool,
    /// True if its sending direction is closed.
    is_finished: bool,
}

impl Connection {
    /// Returns an established connection.
    pub(super) fn accepted(socket: TransparentStream) -> Self {
        Self {
            socket,
            pending: VecDeque::new(),
            is_connecting: false,
            is_unflushed: false,
            has_ended: false,
            is_finishing: false,
            is_finished: false,
        }
    }

    /// Returns a connection that is being established.
    pub(super) fn connecting(socket: TransparentStream) -> Self {
        Self {
            is_connecting: true,
            ..Self::accepted(socket)
        }
    }

    pub(super) fn socket(&self) -> &TransparentStream {
        &self.socket
    }

    /// Returns the number of bytes that can be read.
    ///
    /// # Errors
    /// The error of the connection, once everything before it was read.
    pub(super) fn readable(&self) -> io::Result<u64> {
        let count = self.socket.available()?;
        if count == 0 && self.has_ended {
            self.socket.take_error()?;
        }
        Ok(count)
    }

    /// Reads at most `count` bytes.
    ///
    /// # Errors
    /// The error of the connection.
    pub(super) fn read(&self, count: u64) -> io::Result<Chunks> {
        let bytes = self.socket.receive(count as usize)?;
        Ok(Bytes::from(bytes).into())
    }

    /// Appends data for the next flush.
    pub(super) fn write(&mut self, content: &Chunks) {
        self.pending.extend(content.iter().cloned());
    }

    /// Closes the sending direction after the pending data.
    pub(super) fn finish(&mut self) {
        self.is_finishing = true;
    }

    /// Writes as much as there is room for.
    ///
    /// # Errors
    /// The error of the connection.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            let pieces = self.pending.iter().map(|bytes| &bytes[..]);
            let sent = self.socket.send(pieces)?;
            if sent == 0 {
                return Ok(());
            }
            self.forget(sent);
        }
        if self.is_finishing && !self.is_finished {
            self.socket.finish()?;
            self.is_finished = true;
        }
        Ok(())
    }

    /// Returns true if nothing is pending.
    pub(super) fn has_room(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns true if everything is written, including the end.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Releases the connection to the kernel.
    pub(super) fn release(self) {
        // If that fails, the connection is reset, and the peer does not take the stream for complete.
        let _ = self.socket.release();
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
