//! The decoder of signals.

use thiserror::Error;

use crate::line::{read_greeting, read_signal};
use crate::{LINE_MAX, Signal, VERSION};

/// Reason why received bytes are rejected. Bytes after them are not read: a new connection gets the present state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The first line is no greeting.
    #[error("whoever answers there does not speak of a hop; name the socket of a lasthop daemon")]
    NotSignals,
    /// The peer uses another version.
    #[error(
        "it speaks version {0} of the format and this program version {VERSION}; use programs of one release"
    )]
    OtherVersion(u64),
    /// A line is too long.
    #[error("a line is longer than {LINE_MAX} bytes")]
    TooLong,
    /// A line is malformed.
    #[error("a line cannot be read")]
    Malformed,
}

/// Decodes the lines of one connection, in pieces of any size. It buffers at most [`LINE_MAX`] bytes.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    /// Start of a line whose end has not arrived.
    partial: Vec<u8>,
    greeted: bool,
}

impl Decoder {
    /// Decodes the next bytes, and passes each complete signal to `hear`. Unknown events are ignored.
    ///
    /// # Errors
    /// [`Refusal`] if the bytes are rejected; the connection is of no use any more.
    pub fn feed(&mut self, mut bytes: &[u8], mut hear: impl FnMut(Signal)) -> Result<(), Refusal> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            self.collect(line)?;
            let line = std::mem::take(&mut self.partial);
            if !self.greeted {
                read_greeting(&line)?;
                self.greeted = true;
            } else if let Some(signal) = read_signal(&line)? {
                hear(signal);
            }
        }
        self.collect(bytes)
    }

    fn collect(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if self.partial.len() + bytes.len() > LINE_MAX {
            return Err(Refusal::TooLong);
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }
}
