//! Record marking: messages in a stream of bytes (RFC 5531 §11).

#[cfg(test)]
mod tests;

/// Bit of a fragment's header that marks the last fragment of a record.
const LAST: u32 = 1 << 31;
/// Length of a fragment's header, in bytes.
pub const MARK_BYTES: usize = 4;

/// Reason why a stream cannot be read any further. The next record cannot be found; only a new connection helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A record is too long.
    #[error("a record of at least {length} bytes, at most {limit} are allowed")]
    TooLong {
        /// Length with the last announced fragment, in bytes.
        length: usize,
        /// Limit, in bytes.
        limit: usize,
    },
    /// An empty fragment that is not the last of its record; a peer could send them for ever.
    #[error("an empty fragment within a record")]
    EmptyFragment,
}

/// Finds the records in a stream. A record that lies in one piece is handed on without a copy; of others it buffers
/// no more than has arrived, and keeps that buffer for the next record.
#[derive(Debug, Clone)]
pub struct RecordReader {
    limit: usize,
    record: Vec<u8>,
    header: Vec<u8>,
    /// Number of bytes of the fragment that are still to come.
    remaining: usize,
    last: bool,
}

impl RecordReader {
    /// Returns a reader at the start of a stream, for records of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            record: Vec::new(),
            header: Vec::with_capacity(MARK_BYTES),
            remaining: 0,
            last: false,
        }
    }

    /// Reads the next bytes of the stream, and passes each record that they complete to `deliver`.
    ///
    /// # Errors
    /// If the stream cannot be read any further.
    pub fn read(
        &mut self,
        mut bytes: &[u8],
        mut deliver: impl FnMut(&[u8]),
    ) -> Result<(), RecordError> {
        while !bytes.is_empty() {
            if self.remaining == 0 {
                let (header, rest) =
                    bytes.split_at(bytes.len().min(MARK_BYTES - self.header.len()));
                bytes = rest;
                self.header.extend(header);
                if self.header.len() < MARK_BYTES {
                    return Ok(());
                }
                self.begin_fragment()?;
            }
            let (content, rest) = bytes.split_at(bytes.len().min(self.remaining));
            bytes = rest;
            self.remaining -= content.len();
            let is_whole = self.remaining == 0 && self.last;
            if is_whole && self.record.is_empty() {
                deliver(content);
                continue;
            }
            self.record.extend(content);
            if is_whole {
                deliver(&self.record);
                self.record.clear();
            }
        }
        Ok(())
    }

    /// Begins the fragment of a complete header.
    fn begin_fragment(&mut self) -> Result<(), RecordError> {
        let mark = self
            .header
            .iter()
            .fold(0, |mark, byte| mark << 8 | u32::from(*byte));
        self.header.clear();
        self.last = mark & LAST != 0;
        self.remaining = (mark & !LAST) as usize;
        let length = self.record.len() + self.remaining;
        if length > self.limit {
            let limit = self.limit;
            return Err(RecordError::TooLong { length, limit });
        }
        if self.remaining == 0 && !self.last {
            return Err(RecordError::EmptyFragment);
        }
        Ok(())
    }
}

/// Appends a record of one fragment with the content that `write` appends.
///
/// # Panics
/// If the content is 2 GiB or more.
pub fn write_record(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; MARK_BYTES]);
    write(out);
    let length = u32::try_from(out.len() - start - MARK_BYTES).ok();
    let length = length.filter(|length| length & LAST == 0);
    let length = length.expect("a message is shorter than 2 GiB");
    out[start..start + MARK_BYTES].copy_from_slice(&(LAST | length).to_be_bytes());
}
