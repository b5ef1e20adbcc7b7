//! A connection of the kernel's.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes};
use edges::transparent::TransparentStream;
use redirector::Chunks;

/// A socket, and what it has no room for yet. Dropped, it resets its connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: TransparentStream,
    pending: VecDeque<Bytes>,
    /// The other host has not answered yet.
    pub(super) is_connecting: bool,
    /// It is to be flushed.
    pub(super) is_unflushed: bool,
    /// Nothing comes after what can be read.
    pub(super) has_ended: bool,
    /// Nothing will be written after what is pending.
    is_finishing: bool,
    /// The other side has been told so.
    is_finished: bool,
}

impl Connection {
    /// Returns a connection that is made.
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

    /// Returns a connection that is being made.
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
    /// That of the connection, once all that came before it is read.
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
    /// That of the connection.
    pub(super) fn read(&self, count: u64) -> io::Result<Chunks> {
        let bytes = self.socket.receive(count as usize)?;
        Ok(Bytes::from(bytes).into())
    }

    /// Adds to what the next flush writes.
    pub(super) fn write(&mut self, content: &Chunks) {
        self.pending.extend(content.iter().cloned());
    }

    /// Nothing more will be written.
    pub(super) fn finish(&mut self) {
        self.is_finishing = true;
    }

    /// Writes what there is room for.
    ///
    /// # Errors
    /// That of the connection.
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

    /// Returns true if all is written, the end as well.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Leaves the rest to the kernel.
    pub(super) fn release(self) {
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
