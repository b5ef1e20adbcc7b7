//! Bytes to signals.

use thiserror::Error;

use crate::line::{read_greeting, read_signal};
use crate::{LINE_MAX, Signal, VERSION};

/// Why what comes is not believed. Nothing after it is read: whoever connects anew is told the present state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The first line is no greeting.
    #[error("whoever answers there does not speak of a hop; name the socket of a lasthop daemon")]
    NotSignals,
    /// The other side speaks another version.
    #[error(
        "it speaks version {0} of the format and this program version {VERSION}; use programs of one release"
    )]
    OtherVersion(u64),
    /// A line has no end.
    #[error("a line is longer than {LINE_MAX} bytes")]
    TooLong,
    /// A line cannot be read.
    #[error("a line cannot be read")]
    Malformed,
}

/// Reads the lines of one connection, however they are cut. It keeps at most [`LINE_MAX`] bytes.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    greeted: bool,
}

impl Decoder {
    /// Takes in the next bytes and gives `hear` each signal that is whole. Events that are not known are passed over.
    ///
    /// # Errors
    /// A [`Refusal`]; then the connection is of no more use.
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
