//! TCP segments (RFC 9293).

mod clamp;
mod clock;
mod content;
mod headers;
mod option_bytes;
mod options;
mod ranges;
mod refusal;
mod segment_options;
mod value;

use std::ops::BitOr;

use units::SeqNumber;

pub(crate) use clamp::place_of_larger_size;
pub(crate) use clock::place_of_clock;
pub use headers::PAYLOAD_MAX;
pub use option_bytes::OptionBytes;
pub use options::{SackBlock, SackBlocks, TcpOption, TcpOptions};
pub use ranges::{SackRanges, SeqRange};
pub use refusal::{
    connection_challenged, connection_refused, connection_requested, connection_unknown,
};
pub use segment_options::{AirLoss, TcpSegmentOptions, Timestamps};
pub use value::{NoTcpSegment, TcpSegment};

use crate::field::{read_u16, read_u32};
use crate::malformed::{Header, Malformed, require};

/// The length of a header without options, in bytes.
pub const HEADER_LENGTH: usize = 20;

pub(crate) const SEQUENCE_NUMBER: usize = 4;
pub(crate) const ACKNOWLEDGMENT_NUMBER: usize = 8;
pub(crate) const DATA_OFFSET: usize = 12;
pub(crate) const FLAGS: usize = 13;
pub(crate) const WINDOW: usize = 14;
pub(crate) const CHECKSUM: usize = 16;
const URGENT_POINTER: usize = 18;

/// The control bits of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No bit.
    pub const NONE: Self = Self(0);
    /// The sender has no more data.
    pub const FIN: Self = Self(0x01);
    /// Sequence numbers are being synchronised.
    pub const SYN: Self = Self(0x02);
    /// The connection is reset.
    pub const RST: Self = Self(0x04);
    /// The receiver should deliver the data without delay.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(0x20);
    /// The receiver saw a congestion mark (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// The sender reduced its congestion window (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Returns true if all of `flags` are set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Returns the count of sequence numbers that these bits take: one each for SYN and FIN.
    pub const fn sequence_length(self) -> u32 {
        self.contains(Self::SYN) as u32 + self.contains(Self::FIN) as u32
    }

    /// Returns these bits without `flags`.
    pub const fn without(self, flags: Self) -> Self {
        Self(self.0 & !flags.0)
    }
}

impl BitOr for TcpFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A checked view of a TCP segment.
#[derive(Debug, Clone, Copy)]
pub struct TcpView<'a> {
    bytes: &'a [u8],
}

impl<'a> TcpView<'a> {
    /// Checks the header's length; options are checked when they are read.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_header(bytes)?;
        Ok(Self { bytes })
    }

    /// A view of a segment that was checked before.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The segment, header included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the port that sent the segment.
    pub fn source_port(&self) -> u16 {
        read_u16(self.bytes, 0)
    }

    /// Returns the port that the segment is for.
    pub fn destination_port(&self) -> u16 {
        read_u16(self.bytes, 2)
    }

    /// Returns the number of the payload's first byte, or of the SYN.
    pub fn sequence_number(&self) -> SeqNumber {
        SeqNumber(read_u32(self.bytes, SEQUENCE_NUMBER))
    }

    /// Returns the next number that the sender expects; valid with [`TcpFlags::ACK`] only.
    pub fn acknowledgment_number(&self) -> SeqNumber {
        SeqNumber(read_u32(self.bytes, ACKNOWLEDGMENT_NUMBER))
    }

    /// Returns the length of the header with its options, in bytes (the field "data offset" times four).
    pub fn header_length(&self) -> usize {
        usize::from(self.bytes[DATA_OFFSET] >> 4) * 4
    }

    /// Returns the control bits.
    pub fn flags(&self) -> TcpFlags {
        TcpFlags(self.bytes[FLAGS])
    }

    /// Returns true if this is the first segment of a connection: a SYN without ACK, RST and FIN.
    pub fn asks_for_connection(&self) -> bool {
        let flags = self.flags();
        let others = TcpFlags::ACK | TcpFlags::RST | TcpFlags::FIN;
        flags.contains(TcpFlags::SYN) && flags.0 & others.0 == 0
    }

    /// Returns true if an end closes the connection by this segment: one with FIN or RST.
    pub fn closes(&self) -> bool {
        let flags = self.flags();
        flags.contains(TcpFlags::FIN) || flags.contains(TcpFlags::RST)
    }

    /// Returns the part of the sequence that the segment takes: its data, SYN and FIN.
    pub fn sequence(&self) -> SeqRange {
        let length = self.payload().len() as u32 + self.flags().sequence_length();
        SeqRange::of(self.sequence_number(), length)
    }

    /// Returns the receive window as it stands in the header, before scaling.
    pub fn window(&self) -> u16 {
        read_u16(self.bytes, WINDOW)
    }

    /// Returns the checksum.
    pub fn checksum(&self) -> u16 {
        read_u16(self.bytes, CHECKSUM)
    }

    /// Returns the position where urgent data end; valid with [`TcpFlags::URG`] only.
    pub fn urgent_pointer(&self) -> u16 {
        read_u16(self.bytes, URGENT_POINTER)
    }

    /// Returns the options, in their order.
    pub fn options(&self) -> TcpOptions<'a> {
        TcpOptions::new(&self.bytes[HEADER_LENGTH..self.header_length()])
    }

    /// Returns the data of the segment.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_length()..]
    }
}

/// The header's length, where it is possible.
fn check_header(bytes: &[u8]) -> Result<usize, Malformed> {
    require(Header::Tcp, bytes, HEADER_LENGTH)?;
    let length = usize::from(bytes[DATA_OFFSET] >> 4) * 4;
    if length < HEADER_LENGTH {
        return Err(Malformed::HeaderLength {
            header: Header::Tcp,
            length,
        });
    }
    require(Header::Tcp, bytes, length)?;
    Ok(length)
}
