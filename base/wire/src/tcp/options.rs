//! TCP options (RFC 9293 §3.1, RFC 7323, RFC 2018).

use units::SeqNumber;

use crate::field::{read_u16, read_u32};
use crate::malformed::Malformed;

pub(super) const END_OF_LIST: u8 = 0;
pub(super) const NO_OPERATION: u8 = 1;
pub(super) const MAXIMUM_SEGMENT_SIZE: u8 = 2;
pub(super) const WINDOW_SCALE: u8 = 3;
pub(super) const SACK_PERMITTED: u8 = 4;
pub(super) const SACK: u8 = 5;
pub(super) const TIMESTAMPS: u8 = 8;

const SACK_BLOCK_LENGTH: usize = 8;

/// One option of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// The largest payload that the sender of a SYN accepts in one segment, in bytes.
    MaximumSegmentSize(u16),
    /// Shift of the windows that the sender advertises, as it stands in the SYN.
    WindowScale(u8),
    /// The sender of a SYN understands selective acknowledgements.
    SackPermitted,
    /// Selective acknowledgements.
    Sack(SackBlocks<'a>),
    /// The sender's clock, and the last clock value that it received.
    Timestamps {
        /// The sender's clock.
        value: u32,
        /// The peer's clock, echoed; valid with an acknowledgement only.
        echo: u32,
    },
    /// An option that this crate does not interpret.
    Unknown {
        /// Its kind.
        kind: u8,
        /// Content after kind and length.
        data: &'a [u8],
    },
}

/// The options of a segment, without padding. A malformed option ends them with an error.
#[derive(Debug, Clone)]
pub struct TcpOptions<'a> {
    bytes: &'a [u8],
    /// Position of the next option, from the first option's first byte.
    next: usize,
}

impl<'a> TcpOptions<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0 }
    }

    /// Returns the position after the last option returned, from the first option's first byte.
    pub(super) fn position(&self) -> usize {
        self.next
    }

    /// Returns the option of `kind` at the front of `rest`, and its length.
    fn read(kind: u8, rest: &'a [u8]) -> Result<(TcpOption<'a>, usize), Malformed> {
        let length = rest.get(1).copied().unwrap_or(0);
        let malformed = Malformed::OptionLength { kind, length };
        let data = rest.get(2..usize::from(length)).ok_or(malformed)?;
        let option = match (kind, data.len()) {
            (MAXIMUM_SEGMENT_SIZE, 2) => TcpOption::MaximumSegmentSize(read_u16(data, 0)),
            (WINDOW_SCALE, 1) => TcpOption::WindowScale(data[0]),
            (SACK_PERMITTED, 0) => TcpOption::SackPermitted,
            (SACK, 8 | 16 | 24 | 32) => TcpOption::Sack(SackBlocks { bytes: data }),
            (TIMESTAMPS, 8) => TcpOption::Timestamps {
                value: read_u32(data, 0),
                echo: read_u32(data, 4),
            },
            (MAXIMUM_SEGMENT_SIZE | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS, _) => {
                return Err(malformed);
            }
            _ => TcpOption::Unknown { kind, data },
        };
        Ok((option, usize::from(length)))
    }
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = Result<TcpOption<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.bytes.get(self.next) == Some(&NO_OPERATION) {
            self.next += 1;
        }
        let rest = &self.bytes[self.next..];
        let kind = rest.first().copied().filter(|kind| *kind != END_OF_LIST)?;
        let read = Self::read(kind, rest);
        self.next = read.map_or(self.bytes.len(), |(_, length)| self.next + length);
        Some(read.map(|(option, _)| option))
    }
}

/// A range of bytes that the receiver holds beyond a gap (RFC 2018).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackBlock {
    /// Its first byte.
    pub left: SeqNumber,
    /// The number after its last byte.
    pub right: SeqNumber,
}

/// The blocks of one selective acknowledgement: one to four, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackBlocks<'a> {
    bytes: &'a [u8],
}

impl<'a> SackBlocks<'a> {
    /// Returns the blocks, in their order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = SackBlock> + 'a {
        self.bytes
            .chunks_exact(SACK_BLOCK_LENGTH)
            .map(|block| SackBlock {
                left: SeqNumber(read_u32(block, 0)),
                right: SeqNumber(read_u32(block, 4)),
            })
    }
}
