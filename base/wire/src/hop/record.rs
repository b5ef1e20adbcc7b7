//! Packets as records of a stream, without the fields that the receiver already knows.
//!
//! The method is that of RFC 1144 (a TCP header as its difference from the one before), which a
//! stream that never loses or reorders makes safe. Layout: `docs/hop-frame.md`, "Records of a stream".

mod context;
mod reader;
mod writer;

pub use reader::{RecordReader, StreamBroken};
pub use writer::{RecordHead, RecordWriter};

/// First byte of a record that is a delta.
const DELTA: u8 = 0x80;
/// Bits in a delta's first byte for the fields that follow.
const SEGMENT_SIZE: u8 = 0x40;
const IDENTIFICATION: u8 = 0x20;
const FLAGS: u8 = 0x10;
const TIMESTAMPS: u8 = 0x08;
const WINDOW: u8 = 0x04;
const ACKNOWLEDGEMENT: u8 = 0x02;
const SEQUENCE: u8 = 0x01;
/// A whole record's first byte.
const WHOLE_SEGMENT_SIZE: u8 = 0x01;
const WHOLE_CHECKSUM: u8 = 0x02;

/// The longest head of a record: first byte, payload length, then every field of a delta.
const HEAD_MAX: usize = 1 + 4 + 4 + 8 + 2 + 8 + 8 + 1 + 2 + 2;
