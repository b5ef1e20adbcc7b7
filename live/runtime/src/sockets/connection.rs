//! A connection, and the data that wait for it.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes};
use edges::transparent::TransparentStream;
use redirector::Chunks;

use super::inward::Inward;

/// An end of a connection.
#[derive(Debug)]
pub(super) enum Stream {
    /// A socket of the kernel. When dropped, it resets its connection.
    Kernel(TransparentStream),
    /// A connection to a server on this host.
    Inward(Box<Inward>),
}

/// A stream, and the data that it has no room for yet.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) pending: VecDeque<Bytes>,
    /// True if the other host has not answered yet.
    pub(super) is_connecting: bool,
    /// True if it is to be flushed.
    pub(super) is_unflushed: bool,
    /// True if nothing follows the data that can be read.
    pub(super) has_ended: bool,
    /// True if nothing follows the pending data.
    pub(super) is_finishing: bool,
    /// True if its sending direction is closed.
    pub(super) is_finished: bool,
}

impl Connection {
    /// Returns an established connection.
    pub(super) fn accepted(socket: TransparentStream) -> Self {
        Self::with(Stream::Kernel(socket))
    }

    fn with(stream: Stream) -> Self {
        Self {
            stream,
            pending: VecDeque::new(),
            is_connecting: false,
            is_unflushed: false,
            has_ended: false,
            is_finishing: false,
            is_finished: false,
        }
    }

    /// Returns a connection that is being established.
    pub(super) fn connecting(stream: Stream) -> Self {
        Self {
            is_connecting: true,
            ..Self::with(stream)
        }
    }

    pub(super) fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    /// Takes the pending error, if there is one.
    ///
    /// # Errors
    /// That error.
    pub(super) fn take_error(&mut self) -> io::Result<()> {
        match &mut self.stream {
            Stream::Kernel(socket) => socket.take_error(),
            Stream::Inward(inward) => inward.take_error(),
        }
    }

    /// Returns the number of bytes that can be read.
    ///
    /// # Errors
    /// The error of the connection, once everything before it was read.
    pub(super) fn readable(&mut self) -> io::Result<u64> {
        let count = match &self.stream {
            Stream::Kernel(socket) => socket.available()?,
            Stream::Inward(inward) => inward.available(),
        };
        if count == 0 && self.has_ended {
            self.take_error()?;
        }
        Ok(count)
    }

    /// Reads at most `count` bytes.
    ///
    /// # Errors
    /// The error of the connection.
    pub(super) fn read(&mut self, count: u64) -> io::Result<Chunks> {
        let bytes = match &mut self.stream {
            Stream::Kernel(socket) => socket.receive(count as usize)?,
            Stream::Inward(inward) => inward.receive(count as usize)?,
        };
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
            let sent = match &mut self.stream {
                Stream::Kernel(socket) => socket.send(pieces)?,
                Stream::Inward(inward) => inward.send(pieces)?,
            };
            if sent == 0 {
                return Ok(());
            }
            self.forget(sent);
        }
        if self.is_finishing && !self.is_finished {
            match &mut self.stream {
                Stream::Kernel(socket) => socket.finish()?,
                Stream::Inward(inward) => inward.finish(),
            }
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
