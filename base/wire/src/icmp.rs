//! ICMP messages of both IP versions (RFC 792, RFC 4443), and errors in answer to a packet.

mod answers;

pub use answers::{Unreachable, packet_too_big, unreachable};

use crate::field::{read_u16, read_u32};
use crate::ip::Version;
use crate::malformed::{Header, Malformed, require};

/// The length of the header with the four bytes that every message has behind it, in bytes.
pub const HEADER_LENGTH: usize = 8;

pub(crate) const CHECKSUM: usize = 2;

/// What a message says. Messages of either version that mean the same are the same here; codes stay
/// those of the version. `original` is as much of the packet that caused an error as was sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpMessage<'a> {
    /// Asks for an [`IcmpMessage::EchoReply`].
    EchoRequest(Echo),
    /// Answers an [`IcmpMessage::EchoRequest`].
    EchoReply(Echo),
    /// A packet could not be delivered.
    Unreachable {
        /// Why.
        code: u8,
        /// What came back of it.
        original: &'a [u8],
    },
    /// A packet was too large for a link and must not be fragmented (RFC 1191, RFC 8201).
    PacketTooBig {
        /// The largest packet that the link takes, in bytes; 0 from a router that does not say.
        mtu: u32,
        /// What came back of it.
        original: &'a [u8],
    },
    /// A packet took too many hops, or its fragments too much time.
    TimeExceeded {
        /// Which of both.
        code: u8,
        /// What came back of it.
        original: &'a [u8],
    },
    /// A header made no sense to a router.
    ParameterProblem {
        /// Why.
        code: u8,
        /// What came back of it.
        original: &'a [u8],
    },
    /// Anything else: redirects, multicast, neighbours.
    Other {
        /// The message's type.
        kind: u8,
        /// Its code.
        code: u8,
    },
}

/// What tells echoes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Echo {
    /// Names the asking process.
    pub identifier: u16,
    /// Counts its requests.
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

    /// A view of a message that was checked before.
    pub(crate) fn new(bytes: &'a [u8], version: Version) -> Self {
        Self { bytes, version }
    }

    /// The message, header included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What the message says.
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

    /// Whether this reports an error, so that it must not be answered by another
    /// (RFC 1122 §3.2.2, RFC 4443 §2.4). A kind that is not known as a question counts as one in
    /// IPv4.
    pub fn is_error(&self) -> bool {
        match self.version {
            Version::V4 => !matches!(self.bytes[0], 0 | 8..=10 | 13..=18),
            Version::V6 => self.bytes[0] < 128,
        }
    }

    /// What follows the header: an echo's data, or the packet that caused an error.
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
