//! A connection to the server over a stream of bytes, as over TCP.

use bytes::Bytes;
use rpc::record::{MARK_BYTES, RecordError, RecordReader, write_record};

use crate::{Input, Peer};

/// Record marking of one connection (RFC 5531 §11).
#[derive(Debug, Clone)]
pub struct RecordStream {
    peer: Peer,
    reader: RecordReader,
}

impl RecordStream {
    /// Returns the stream of `peer`, with records of at most `limit` bytes.
    pub fn new(peer: Peer, limit: usize) -> Self {
        Self {
            peer,
            reader: RecordReader::new(limit),
        }
    }

    /// Returns the calls that these bytes complete, for [`Server`](crate::Server).
    ///
    /// # Errors
    /// If the rest of the stream cannot be parsed: close it.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Vec<Input>, RecordError> {
        let from = self.peer;
        let mut inputs = Vec::new();
        self.reader.read(bytes, |record| {
            let message = Bytes::copy_from_slice(record);
            inputs.push(Input::Received { from, message });
        })?;
        Ok(inputs)
    }

    /// Returns a reply with its record mark.
    pub fn write(message: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MARK_BYTES + message.len());
        write_record(&mut bytes, |bytes| bytes.extend(message));
        bytes
    }
}
