//! ICMP messages of both IP versions (RFC 792, RFC 4443), and ICMP errors that answer a packet.

mod answers;

pub use answers::{Unreachable, packet_too_big, unreachable};

use crate::field::{read_u16, read_u32};
use crate::ip::numbers::Version;
use crate::malformed::{Header, Malformed, require};

/// Length of the header including the four bytes of message-specific fields, in bytes.
pub const HEADER_LENGTH: usize = 8;

pub(crate) const CHECKSUM: usize = 2;

/// The content of a message. Messages of both versions with the same meaning have the same variant; codes are those of
/// the version. `original` is the part of the packet in error that the message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpMessage<'a> {
    /// A request for an [`IcmpMessage::EchoReply`].
    EchoRequest(Echo),
    /// The reply to an [`IcmpMessage::EchoRequest`].
    EchoReply(Echo),
    /// A packet could not be delivered.
    Unreachable {
        /// Reason, as in the message's version.
        code: u8,
        /// Part of the packet that could not be delivered.
        original: &'a [u8],
    },
    /// A packet was too large for a link and must not be fragmented (RFC 1191, RFC 8201).
    PacketTooBig {
        /// The largest packet that the link takes, in bytes; 0 from a router that does not report it.
        mtu: u32,
        /// Part of the packet that was too large.
        original: &'a [u8],
    },
    /// A packet took too many hops, or its fragments took too long to reassemble.
    TimeExceeded {
        /// Reason: hops or reassembly time.
        code: u8,
        /// Part of the packet.
        original: &'a [u8],
    },
    /// A router could not process a header.
    ParameterProblem {
        /// Reason, as in the message's version.
        code: u8,
        /// Part of the packet.
        original: &'a [u8],
    },
    /// Any other message: redirects, multicast, neighbours.
    Other {
        /// The message's type.
        kind: u8,
        /// Its code.
        code: u8,
    },
}

/// Identifier and sequence number, which distinguish echoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Echo {
    /// Identifier of the requesting process.
    pub identifier: u16,
    /// Sequence number of the request.
    pub sequence: u16,
}

/// A checked view of an ICMP message.
#[derive(Debug, Clone, Copy)]
pub struct IcmpView<'a> {
    bytes: &'a [u8],
    version: Version,
}

impl<'a> IcmpView<'a> {
    /// Checks that a message of `version` has its header.
    pub fn parse(bytes: &'a [u8], version: Version) -> Result<Self, Malformed> {
        require(Header::Icmp, bytes, HEADER_LENGTH)?;
        Ok(Self { bytes, version })
    }

    /// Returns a view of a message that was checked before.
    pub(crate) fn new(bytes: &'a [u8], version: Version) -> Self {
        Self { bytes, version }
    }

    /// The message, header included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the content of the message.
    pub fn message(&self) -> IcmpMessage<'a> {
        let (kind, code, original) = (self.bytes[0], self.bytes[1], self.payload());
        match (self.version, kind, code) {
            (Version::V4, 8, _) | (Version::V6, 128, _) => IcmpMessage::EchoRequest(self.echo()),
            (Version::V4, 0, _) | (Version::V6, 129, _) => IcmpMessage::EchoReply(self.echo()),
            (Version::V4, 3, 4) => IcmpMessage::PacketTooBig {
                mtu: read_u16(self.bytes, 6).into(),
                original,
            },
            (Version::V6, 2, _) => IcmpMessage::PacketTooBig {
                mtu: read_u32(self.bytes, 4),
                original,
            },
            (Version::V4, 3, _) | (Version::V6, 1, _) => {
                IcmpMessage::Unreachable { code, original }
            }
            (Version::V4, 11, _) | (Version::V6, 3, _) => {
                IcmpMessage::TimeExceeded { code, original }
            }
            (Version::V4, 12, _) | (Version::V6, 4, _) => {
                IcmpMessage::ParameterProblem { code, original }
            }
            _ => IcmpMessage::Other { kind, code },
        }
    }

    /// Returns true if this reports an error, so that no other error may answer it (RFC 1122 §3.2.2, RFC 4443 §2.4). In
    /// IPv4 a kind that is not known as a query counts as an error.
    pub fn is_error(&self) -> bool {
        match self.version {
            Version::V4 => !matches!(self.bytes[0], 0 | 8..=10 | 13..=18),
            Version::V6 => self.bytes[0] < 128,
        }
    }

    /// Returns the bytes after the header: an echo's data, or the packet that caused an error.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_LENGTH..]
    }

    fn echo(&self) -> Echo {
        Echo {
            identifier: read_u16(self.bytes, 4),
            sequence: read_u16(self.bytes, 6),
        }
    }
}
