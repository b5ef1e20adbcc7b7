//! The server behind a stream of bytes, as over TCP.

use bytes::Bytes;
use rpc::record::{MARK_BYTES, RecordError, RecordReader, write_record};

use crate::{Input, Peer};

/// One connection's way between bytes and messages (record marking, RFC 5531 §11).
#[derive(Debug, Clone)]
pub struct Stream {
    peer: Peer,
    reader: RecordReader,
}

impl Stream {
    /// The stream of `peer`, with records of at most `limit` bytes.
    pub fn new(peer: Peer, limit: usize) -> Self {
        Self {
            peer,
            reader: RecordReader::new(limit),
        }
    }

    /// The calls that these bytes complete, for [`Server`](crate::Server).
    ///
    /// # Errors
    /// Where the stream cannot be read on: close it.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Vec<Input>, RecordError> {
        let from = self.peer;
        let mut inputs = Vec::new();
        self.reader.read(bytes, |record| {
            let message = Bytes::copy_from_slice(record);
            inputs.push(Input::Received { from, message });
        })?;
        Ok(inputs)
    }

    /// A reply as it goes into the stream.
    pub fn write(message: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MARK_BYTES + message.len());
        write_record(&mut bytes, |bytes| bytes.extend(message));
        bytes
    }
}
