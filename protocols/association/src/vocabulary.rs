//! The requests and news of streams, which everything above an association uses: they name no transport.

use serde::{Deserialize, Serialize};

pub use mtcp::{Addresses as StreamAddresses, ConnectionId as StreamId, Profile, Reason};

/// A request for the streams of an association. Requests for streams that are gone change nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamRequest<C> {
    /// Open a stream, with a number that no other open one has.
    Open {
        /// The number of its [`StreamId::Opened`].
        number: u64,
        /// Its endpoints, as applications know them.
        addresses: StreamAddresses,
    },
    /// Accept the stream that the other end requests.
    Accept(StreamId),
    /// Refuse it.
    Refuse(StreamId, Reason),
    /// Send more bytes. Bytes for which the send buffer has no room wait too.
    Write(StreamId, C),
    /// Read up to this many of the readable bytes; [`StreamNews::Data`] brings them.
    Read(StreamId, u64),
    /// End the sending direction after what was written.
    Close(StreamId),
    /// End both directions at once, with a reset.
    Abort(StreamId, Reason),
}

/// News of the streams of an association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamNews<C> {
    /// The other end requests a stream: answer with [`StreamRequest::Accept`] or [`StreamRequest::Refuse`].
    Arrived(StreamId, StreamAddresses),
    /// The stream that was opened is established.
    Connected(StreamId),
    /// This many bytes can be read now, in all.
    Readable(StreamId, u64),
    /// The answer to [`StreamRequest::Read`].
    Data(StreamId, C),
    /// This many bytes can be written now, in all.
    Writable(StreamId, u64),
    /// The other end has ended its direction, and all of it has arrived.
    Finished(StreamId),
    /// The stream was not established, or is broken. Its number may be reused.
    Reset(StreamId, Reason),
}
