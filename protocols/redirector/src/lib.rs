//! The redirector: joins two byte-stream transports by a bounded buffer, and keeps the table of such bindings.
//!
//! A connection that ends at the gateway is continued by a second one, and the redirector carries the bytes between
//! them: SPLIT and SPLIT-SMART (Balakrishnan et al. 1997), I-TCP and MTCP differ only in the transport on the hop's
//! side. The redirector is independent of transports. Its inputs report streams that became readable or writable,
//! finished or were reset, and its outputs request reads and writes:
//!
//! - back-pressure: it requests no more than its buffer takes, so unread bytes close the sender's window;
//! - a finished stream finishes the other once everything before it has been written, and the opposite
//!   direction goes on (half-close);
//! - a reset on one side resets the other; buffered bytes are lost, as TCP would lose them.
//!
//! The content is a type parameter: [`Count`] counts bytes (the simulator, whose streams are functions of the
//! position), [`Chunks`] moves real ones without copying.

mod binding;
mod content;
mod direction;
mod redirector;
mod state;

pub use content::{Chunks, Content, Count};
pub use redirector::Redirector;
use serde::{Deserialize, Serialize};
pub use state::BindingState;
use std::net::SocketAddr;
use units::{Bytes, Duration};

/// Identifier of a binding, chosen by the driver, unique among the bindings that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BindingId(pub u64);

/// One of the two sides of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Side {
    /// Towards the fixed host.
    Fixed,
    /// Towards the mobile host, across the hop.
    Mobile,
}

impl Side {
    /// Returns the opposite side.
    pub const fn other(self) -> Self {
        match self {
            Self::Fixed => Self::Mobile,
            Self::Mobile => Self::Fixed,
        }
    }
}

/// One of the two streams of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// The binding.
    pub binding: BindingId,
    /// Side of its transport.
    pub side: Side,
}

impl Stream {
    /// Returns the stream that this one is joined to.
    pub const fn other(self) -> Self {
        Self {
            binding: self.binding,
            side: self.side.other(),
        }
    }
}

/// Configuration of a [`Redirector`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Buffer of a binding in each direction. 64 KB in the comparison (Balakrishnan et al. 1997).
    pub buffer: Bytes,
    /// Largest number of bindings; a connection beyond it is reset.
    pub bindings: usize,
    /// Time without events after which a binding is reset on both sides.
    pub idle: Duration,
}

impl Default for Config {
    /// Returns the paper's buffer, and an idle limit as RFC 5382 requires of middleboxes (REQ-5: at least 2 h 4 min).
    fn default() -> Self {
        Self {
            buffer: Bytes::kibi(64),
            bindings: 1_024,
            idle: Duration::from_secs(124 * 60),
        }
    }
}

/// Inputs of a [`Redirector`]. Inputs for bindings that no longer exist are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<C> {
    /// A connection has arrived on this stream, to be continued to `destination` on the other side.
    Arrived {
        /// Stream of a binding that does not exist yet.
        stream: Stream,
        /// Destination address of the connection.
        destination: SocketAddr,
    },
    /// The stream has bytes to read.
    Readable {
        /// Stream.
        stream: Stream,
        /// Total number of bytes that can be read now, including those requested and not delivered.
        available: u64,
    },
    /// The bytes for [`Output::Read`]: at most as many as requested, and fewer if fewer are readable.
    Data {
        /// Stream.
        stream: Stream,
        /// Bytes.
        content: C,
    },
    /// The stream accepts bytes. The first such input also reports that a requested stream is connected.
    Writable {
        /// Stream.
        stream: Stream,
        /// Total number of bytes that can be written now.
        room: u64,
    },
    /// The stream ends after its readable bytes.
    Finished(Stream),
    /// The stream was reset, or could not be connected.
    Reset(Stream),
}

/// Outputs of a [`Redirector`] for its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<C> {
    /// Open this stream to `destination`.
    Connect {
        /// Stream.
        stream: Stream,
        /// Destination address.
        destination: SocketAddr,
    },
    /// Read from the stream and return the bytes as [`Input::Data`].
    Read {
        /// Stream.
        stream: Stream,
        /// Largest number of bytes to read.
        count: u64,
    },
    /// Write bytes to the stream; it has room for them.
    Write {
        /// Stream.
        stream: Stream,
        /// Bytes.
        content: C,
    },
    /// Finish the stream: nothing more will be written to it.
    Finish(Stream),
    /// Reset the stream.
    Reset(Stream),
    /// The binding is closed; its identifier may be used again.
    Closed(BindingId),
}

/// Counters of a [`Redirector`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Bindings made.
    pub bindings: u64,
    /// Connections reset because there were too many.
    pub refused: u64,
    /// Bytes written towards mobile hosts.
    pub to_mobile: u64,
    /// Bytes written towards fixed hosts.
    pub to_fixed: u64,
    /// Bindings that finished on both sides.
    pub finished: u64,
    /// Bindings reset by one side.
    pub reset: u64,
    /// Bindings reset because they were idle for too long.
    pub idle: u64,
}
