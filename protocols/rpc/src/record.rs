//! Messages in a stream of bytes: record marking (RFC 5531 §11).

#[cfg(test)]
mod tests;

/// The bit of a fragment's header that says that it is the record's last.
const LAST: u32 = 1 << 31;
/// The header of a fragment, in bytes.
pub const MARK_BYTES: usize = 4;

/// Why a stream cannot be read on. There is no way to find the next record; only a new connection helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A record is too long.
    #[error("a record of at least {length} bytes, at most {limit} are allowed")]
    TooLong {
        /// What it has, with the fragment that was announced last.
        length: usize,
        /// What is allowed.
        limit: usize,
    },
    /// A fragment without bytes that is not the last of its record; a peer could send them for ever.
    #[error("an empty fragment within a record")]
    EmptyFragment,
}

/// Finds the records in a stream. A record that lies in one piece is handed on from there; of others it holds no more
/// than has arrived, and keeps that room for the next.
#[derive(Debug, Clone)]
pub struct RecordReader {
    limit: usize,
    record: Vec<u8>,
    header: Vec<u8>,
    /// Bytes of the fragment that are still to come.
    remaining: usize,
    last: bool,
}

impl RecordReader {
    /// A reader at the start of a stream, of records of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            record: Vec::new(),
            header: Vec::with_capacity(MARK_BYTES),
            remaining: 0,
            last: false,
        }
    }

    /// Takes in the next bytes of the stream and hands on each record that they complete.
    ///
    /// # Errors
    /// Where the stream cannot be read on.
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

    /// The header is complete.
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

/// Appends a record of one fragment: what `write` appends.
///
/// # Panics
/// If that is 2 GiB or more.
pub fn write_record(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; MARK_BYTES]);
    write(out);
    let length = u32::try_from(out.len() - start - MARK_BYTES).ok();
    let length = length.filter(|length| length & LAST == 0);
    let length = length.expect("a message is shorter than 2 GiB");
    out[start..start + MARK_BYTES].copy_from_slice(&(LAST | length).to_be_bytes());
}
