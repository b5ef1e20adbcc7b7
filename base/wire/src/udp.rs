//! UDP datagrams (RFC 768).

use crate::field::{read_u16, write_u16};
use crate::malformed::{Header, Malformed, require};

/// The length of the header, in bytes.
pub const HEADER_LENGTH: usize = 8;

const LENGTH: usize = 4;
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
        Ok(Self {
            bytes: &bytes[..length],
        })
    }

    /// Returns a view of the part of a datagram that its first fragment carries.
    pub fn parse_first_fragment(bytes: &'a [u8]) -> Result<Self, Malformed> {
        require(Header::Udp, bytes, HEADER_LENGTH)?;
        Ok(Self { bytes })
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
}

/// A checked UDP header that can be changed.
#[derive(Debug)]
pub struct UdpMut<'a> {
    header: &'a mut [u8],
}

impl<'a> UdpMut<'a> {
    /// Checks the length of the header; the caller sets the length field.
    pub fn parse(bytes: &'a mut [u8]) -> Result<Self, Malformed> {
        require(Header::Udp, bytes, HEADER_LENGTH)?;
        Ok(Self {
            header: &mut bytes[..HEADER_LENGTH],
        })
    }

    /// Sets the length of header and payload, in bytes. It does not update the checksum.
    pub fn set_length(&mut self, length: u16) {
        write_u16(self.header, LENGTH, length);
    }

    /// Sets the checksum; 0 for none.
    pub fn set_checksum(&mut self, checksum: u16) {
        write_u16(self.header, CHECKSUM, checksum);
    }
}
