//! Two byte-stream transports joined by a bounded buffer, and the table of such bindings.
//!
//! A connection that ends at the gateway is continued by a second one, and the redirector carries the
//! bytes between them: SPLIT and SPLIT-SMART (Balakrishnan et al. 1997), I-TCP and MTCP differ
//! only in the transport on the hop's side. The redirector knows no transport. It hears of streams that
//! became readable or writable, finished or were reset, and answers with what to read and write:
//!
//! - back-pressure: it asks for no more than its buffer takes, so unread bytes close the sender's window;
//! - a finished stream finishes the other once everything before it has been written, and the opposite
//!   direction goes on (half-close);
//! - a reset on one side resets the other; what was buffered is lost, as TCP would lose it.
//!
//! Content is a parameter: [`Count`] counts bytes (the simulator, whose streams are functions of the
//! position), [`Chunks`] moves real ones without copying.

mod binding;
mod content;
mod direction;
mod redirector;

pub use content::{Chunks, Content, Count};
pub use redirector::Redirector;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use units::{Bytes, Duration};

/// A binding's name: the driver chooses it, unique among the bindings that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindingId(pub u64);

/// One of the two sides of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Towards the fixed host.
    Fixed,
    /// Towards the mobile host, across the hop.
    Mobile,
}

impl Side {
    /// The opposite side.
    pub const fn other(self) -> Self {
        match self {
            Self::Fixed => Self::Mobile,
            Self::Mobile => Self::Fixed,
        }
    }
}

/// One of the two streams of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    /// The binding.
    pub binding: BindingId,
    /// Whose transport it is.
    pub side: Side,
}

impl Stream {
    /// The stream that this one is joined to.
    pub const fn other(self) -> Self {
        Self {
            binding: self.binding,
            side: self.side.other(),
        }
    }
}

/// How a [`Redirector`] behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What a binding buffers in each direction. 64 KB in the comparison (Balakrishnan et al. 1997).
    pub buffer: Bytes,
    /// Bindings at one time; a connection beyond them is reset.
    pub bindings: usize,
    /// A binding on which nothing happens for so long is reset on both sides.
    pub idle: Duration,
}

impl Default for Config {
    /// The paper's buffer; an idle limit as RFC 5382 asks of middleboxes (REQ-5: at least 2 h 4 min).
    fn default() -> Self {
        Self {
            buffer: Bytes::kibi(64),
            bindings: 1_024,
            idle: Duration::from_secs(124 * 60),
        }
    }
}

/// What can happen to a [`Redirector`]. Events of bindings that are gone mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<C> {
    /// A connection came in on this stream, to be continued to `destination` on the other side.
    Arrived {
        /// The stream, of a binding that does not exist yet.
        stream: Stream,
        /// Whom the connection was meant for.
        destination: SocketAddr,
    },
    /// So many bytes can be read from the stream now, in all.
    Readable {
        /// The stream.
        stream: Stream,
        /// Bytes, those included that were asked for and have not been delivered.
        available: u64,
    },
    /// The answer to [`Output::Read`]: at most as much as was asked for, and less where there is less.
    Data {
        /// The stream.
        stream: Stream,
        /// The bytes.
        content: C,
    },
    /// So many bytes can be written to the stream now, in all. The first such event also says that a
    /// stream that was asked for has been connected.
    Writable {
        /// The stream.
        stream: Stream,
        /// Bytes.
        room: u64,
    },
    /// The stream ends after what is readable.
    Finished(Stream),
    /// The stream is broken, or could not be connected.
    Reset(Stream),
}

/// What a [`Redirector`] asks of its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<C> {
    /// Open this stream to `destination`.
    Connect {
        /// The stream.
        stream: Stream,
        /// Whom to connect to.
        destination: SocketAddr,
    },
    /// Take so many bytes from the stream and hand them over as [`Input::Data`].
    Read {
        /// The stream.
        stream: Stream,
        /// Bytes at most.
        count: u64,
    },
    /// Write to the stream; it has room.
    Write {
        /// The stream.
        stream: Stream,
        /// The bytes.
        content: C,
    },
    /// Nothing more will be written to the stream.
    Finish(Stream),
    /// Break the stream.
    Reset(Stream),
    /// The binding is gone; its name may be used again.
    Closed(BindingId),
}

/// What a [`Redirector`] has done.
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
    /// Bindings that one side reset.
    pub reset: u64,
    /// Bindings that were idle for too long.
    pub idle: u64,
}
