//! UDP datagrams (RFC 768).

use crate::field::read_u16;
use crate::malformed::{Header, Malformed, require};

/// The length of the header, in bytes.
pub const HEADER_LENGTH: usize = 8;

/// Versions of QUIC, and the bits of an Initial packet of each that are not encrypted.
const QUIC_1: u32 = 1;
const QUIC_2: u32 = 0x6b33_43cf;
const LONG_HEADER_AND_TYPE: u8 = 0xf0;
const INITIAL_1: u8 = 0xc0;
const INITIAL_2: u8 = 0xd0;
/// Fewest bytes of a datagram with an Initial packet of a client.
const QUIC_INITIAL_LEAST: usize = 1_200;

pub(crate) const LENGTH: usize = 4;
pub(crate) const CHECKSUM: usize = 6;

/// A checked view of a UDP datagram; bytes beyond its length are left out.
#[derive(Debug, Clone, Copy)]
pub struct UdpView<'a> {
    bytes: &'a [u8],
}

impl<'a> UdpView<'a> {
    /// Checks the datagram's length against the bytes that are there.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        require(Header::Udp, bytes, HEADER_LENGTH)?;
        let length = usize::from(read_u16(bytes, LENGTH));
        if length < HEADER_LENGTH || length > bytes.len() {
            let available = bytes.len();
            return Err(Malformed::TotalLength {
                header: Header::Udp,
                length,
                available,
            });
        }
        Ok(Self::new(bytes))
    }

    /// A view of a datagram that was checked before.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let length = usize::from(read_u16(bytes, LENGTH));
        Self {
            bytes: &bytes[..length],
        }
    }

    /// A view of the first fragment of one, which was checked before.
    pub(crate) fn first_fragment(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the datagram, header included, without trailing bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the port that sent the datagram.
    pub fn source_port(&self) -> u16 {
        read_u16(self.bytes, 0)
    }

    /// Returns the port that the datagram is for.
    pub fn destination_port(&self) -> u16 {
        read_u16(self.bytes, 2)
    }

    /// Returns the length of header and payload, in bytes; for a first fragment that of the whole datagram.
    pub fn length(&self) -> u16 {
        read_u16(self.bytes, LENGTH)
    }

    /// Returns the checksum; 0 means that the sender computed none.
    pub fn checksum(&self) -> u16 {
        read_u16(self.bytes, CHECKSUM)
    }

    /// Returns the payload.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_LENGTH..]
    }

    /// Returns true if the datagram asks for a connection of QUIC, of version 1 or 2: it has an Initial packet of a
    /// client (RFC 9000, sections 14.1 and 17.2.2; RFC 9369, sections 3.1 and 3.2).
    pub fn asks_for_quic(&self) -> bool {
        let [first, version @ ..] = self.payload().first_chunk().unwrap_or(&[0; 5]);
        let is_initial = match u32::from_be_bytes(*version) {
            QUIC_1 => *first & LONG_HEADER_AND_TYPE == INITIAL_1,
            QUIC_2 => *first & LONG_HEADER_AND_TYPE == INITIAL_2,
            _ => false,
        };
        is_initial && self.payload().len() >= QUIC_INITIAL_LEAST
    }
}
