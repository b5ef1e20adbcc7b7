//! The stream that carries records.

use bytes::Bytes;
use units::{Duration, Instant};

use crate::record::{RecordError, RecordReader};

/// State of the stream, connected or not.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    limit: usize,
    reader: Option<RecordReader>,
    /// Time since which a reply is awaited and nothing has arrived.
    quiet_since: Option<Instant>,
}

impl Stream {
    /// Returns a stream that is not connected yet, for records of up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            reader: None,
            quiet_since: None,
        }
    }

    pub(super) fn connect(&mut self) {
        self.reader = Some(RecordReader::new(self.limit));
        self.quiet_since = None;
    }

    pub(super) fn disconnect(&mut self) {
        self.reader = None;
        self.quiet_since = None;
    }

    pub(super) fn is_connected(&self) -> bool {
        self.reader.is_some()
    }

    /// Returns the records that `bytes` complete. Bytes from a stream that was given up are dropped.
    pub(super) fn read(&mut self, now: Instant, bytes: &[u8]) -> Result<Vec<Bytes>, RecordError> {
        let mut records = Vec::new();
        if let Some(reader) = &mut self.reader {
            self.quiet_since = self.quiet_since.map(|_| now);
            reader.read(bytes, |record| records.push(Bytes::copy_from_slice(record)))?;
        }
        Ok(records)
    }

    /// Notes that a reply is awaited.
    pub(super) fn asked(&mut self, now: Instant) {
        self.quiet_since.get_or_insert(now);
    }

    /// Notes that no reply is awaited any more.
    pub(super) fn idle(&mut self) {
        self.quiet_since = None;
    }

    /// Returns the time at which the stream is given up.
    pub(super) fn deadline(&self, after: Duration) -> Option<Instant> {
        Some(self.quiet_since? + after)
    }
}
