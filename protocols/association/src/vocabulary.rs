//! The vocabulary of streams, which everything above an association uses: it names no transport.

pub use mtcp::{Addresses as StreamAddresses, ConnectionId as StreamId, Profile, Reason};

/// What a driver asks of the streams of an association. Requests for streams that are gone change nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamRequest<C> {
    /// Open a stream, under a number that no other open one has.
    Open {
        /// The number of its [`StreamId::Opened`].
        number: u64,
        /// Its ends, as applications know them.
        addresses: StreamAddresses,
    },
    /// Make the stream that the other end asks for.
    Accept(StreamId),
    /// Refuse it.
    Refuse(StreamId, Reason),
    /// Send more bytes. Those for which the send buffer has no room wait as well.
    Write(StreamId, C),
    /// Take up to so many of the bytes that are readable: [`StreamNews::Data`] brings them.
    Read(StreamId, u64),
    /// End the sending direction after what was written.
    Close(StreamId),
    /// End both directions at once, with a reset.
    Abort(StreamId, Reason),
}

/// What an association reports of its streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamNews<C> {
    /// The other end asks for a stream: answer with [`StreamRequest::Accept`] or [`StreamRequest::Refuse`].
    Arrived(StreamId, StreamAddresses),
    /// The stream that was opened is made.
    Connected(StreamId),
    /// So many bytes can be read now, in all.
    Readable(StreamId, u64),
    /// The answer to [`StreamRequest::Read`].
    Data(StreamId, C),
    /// So many bytes can be written now, in all.
    Writable(StreamId, u64),
    /// The other end has ended its direction, and all of it has arrived.
    Finished(StreamId),
    /// The stream was not made, or is broken. Its name may be used again.
    Reset(StreamId, Reason),
}
