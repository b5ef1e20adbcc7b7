//! One side of a connection that is split.

use std::io;

use redirector::Chunks;

use super::hop::HopStream;
use super::kernel::KernelStream;

/// What a socket that has nothing pending is said to have room for: what it does not take waits beside it.
const ROOM: u64 = 256 << 10;

/// What can be read now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// So many bytes.
    Bytes(u64),
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing more will come.
    End,
}

/// One side of a connection that is split; dropped before its end it resets its connection.
#[derive(Debug)]
pub(super) enum Stream {
    /// TCP of the kernel.
    Kernel(KernelStream),
    /// MTCP across the hop.
    Hop(HopStream),
}

impl Stream {
    /// The socket, if it has one.
    pub(super) fn kernel(&self) -> Option<&KernelStream> {
        match self {
            Self::Kernel(stream) => Some(stream),
            Self::Hop(_) => None,
        }
    }

    /// The same where it crosses the hop.
    pub(super) fn hop(&mut self) -> Option<&mut HopStream> {
        match self {
            Self::Kernel(_) => None,
            Self::Hop(stream) => Some(stream),
        }
    }

    /// Whether nothing comes after what can be read.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Kernel(stream) => stream.ended,
            Self::Hop(stream) => stream.ended,
        }
    }

    /// What can be read.
    ///
    /// # Errors
    /// That of the connection, once all that came before it is read.
    pub(super) fn look(&self) -> io::Result<Look> {
        match self {
            Self::Kernel(stream) => stream.look(),
            Self::Hop(stream) => Ok(match stream.available() {
                0 if stream.ended => Look::End,
                0 => Look::Nothing,
                count => Look::Bytes(count),
            }),
        }
    }

    /// Reads at most `count` bytes.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) fn read(&mut self, count: u64) -> io::Result<Chunks> {
        match self {
            Self::Kernel(stream) => stream.read(count),
            Self::Hop(stream) => Ok(stream.read(count)),
        }
    }

    /// Writes `content`, now or when there is room.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) fn write(&mut self, content: Chunks) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.write(&content),
            Self::Hop(stream) => {
                stream.write(content);
                Ok(())
            }
        }
    }

    /// Nothing more will be written.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.finish(),
            Self::Hop(stream) => {
                stream.finish();
                Ok(())
            }
        }
    }

    /// Writes what there is room for.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.flush(),
            Self::Hop(_) => Ok(()),
        }
    }

    /// How many bytes it takes.
    pub(super) fn room(&self) -> u64 {
        match self {
            Self::Kernel(stream) if stream.has_room() => ROOM,
            Self::Kernel(_) => 0,
            Self::Hop(stream) => stream.room(),
        }
    }

    /// Whether its end has been written or waits to be.
    pub(super) fn is_finishing(&self) -> bool {
        match self {
            Self::Kernel(stream) => stream.is_finishing(),
            Self::Hop(stream) => stream.is_finished(),
        }
    }

    /// Whether all is written, the end as well.
    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::Kernel(stream) => stream.is_finished(),
            Self::Hop(stream) => stream.is_finished(),
        }
    }

    /// Leaves the rest to whoever carries it.
    pub(super) fn let_go(self) {
        match self {
            Self::Kernel(stream) => stream.let_go(),
            Self::Hop(stream) => stream.let_go(),
        }
    }
}
