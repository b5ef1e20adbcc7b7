//! The stream that carries records.

use bytes::Bytes;
use units::{Duration, Instant};

use crate::record::{RecordError, RecordReader};

/// The stream, or the wish for one.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    limit: usize,
    reader: Option<RecordReader>,
    /// Since when something is waited for and nothing has arrived.
    quiet_since: Option<Instant>,
}

impl Stream {
    /// Not connected yet; of records up to `limit` bytes.
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

    /// Takes in what arrived. What comes from a stream that was given up is dropped.
    pub(super) fn read(&mut self, now: Instant, bytes: &[u8]) -> Result<Vec<Bytes>, RecordError> {
        let mut records = Vec::new();
        if let Some(reader) = &mut self.reader {
            self.quiet_since = self.quiet_since.map(|_| now);
            reader.read(bytes, |record| records.push(Bytes::copy_from_slice(record)))?;
        }
        Ok(records)
    }

    /// Something is waited for.
    pub(super) fn asked(&mut self, now: Instant) {
        self.quiet_since.get_or_insert(now);
    }

    /// Nothing is waited for any more.
    pub(super) fn idle(&mut self) {
        self.quiet_since = None;
    }

    /// When to give it up.
    pub(super) fn deadline(&self, after: Duration) -> Option<Instant> {
        Some(self.quiet_since? + after)
    }
}
