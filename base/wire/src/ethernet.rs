//! The parts of Ethernet that the hop uses: addresses, and the length of the hop's datagram in a frame
//! (`docs/hop-frame.md`).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The first `EtherType` that IEEE 802 (2014, §9.2.3) reserves for local experiments. It is the default of the hop's
/// frames, which a configuration may change.
pub const ETHER_TYPE: u16 = 0x88b5;
/// Smallest `EtherType`; a smaller number in its place is the length of an 802.3 frame.
pub const LEAST_ETHER_TYPE: u16 = 0x0600;
/// Length of the header before the payload of a frame, in bytes: two addresses and the `EtherType`.
pub const HEADER_BYTES: usize = 14;
/// Length of the length field before the datagram, in bytes; it is there since a payload may be padded.
pub const LENGTH_BYTES: usize = 2;

/// Address of a network interface (EUI-48).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// All stations of a link.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns true if the address names several stations (the bit that is sent first).
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(formatter, "{first:02x}")?;
        rest.iter()
            .try_for_each(|byte| write!(formatter, ":{byte:02x}"))
    }
}

/// Error for a text that is no address of a network interface.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is no MAC address; write it like '02:00:5e:10:00:01'")]
pub struct ParseMacError(String);

impl FromStr for MacAddress {
    type Err = ParseMacError;

    /// Reads six bytes of two hexadecimal digits each, with `:` or `-` between them.
    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let wrong = || ParseMacError(text.into());
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut parts = text.split(separator);
        let mut bytes = [0; 6];
        for byte in &mut bytes {
            let part = parts.next().ok_or_else(wrong)?;
            let digits = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = u8::from_str_radix(part, 16)
                .ok()
                .filter(|_| digits)
                .ok_or_else(wrong)?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(wrong()),
        }
    }
}

/// Error for a payload that is shorter than its length field claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an Ethernet payload of {available} bytes cannot hold the length and {claimed} bytes")]
pub struct MalformedPayload {
    /// The length that it claims; 0 if it has no length field.
    pub claimed: usize,
    /// Length of the payload, in bytes.
    pub available: usize,
}

/// Returns the length field for `datagram`, or `None` if it is too long for a payload.
pub fn length_of(datagram: &[u8]) -> Option<[u8; LENGTH_BYTES]> {
    u16::try_from(datagram.len()).ok().map(u16::to_be_bytes)
}

/// Returns the datagram in the payload of a frame, without the padding behind it.
///
/// # Errors
/// If the payload ends before the datagram does.
pub fn datagram_in(payload: &mut [u8]) -> Result<&mut [u8], MalformedPayload> {
    let available = payload.len();
    let Some((length, rest)) = payload.split_first_chunk_mut::<LENGTH_BYTES>() else {
        return Err(MalformedPayload {
            claimed: 0,
            available,
        });
    };
    let claimed = usize::from(u16::from_be_bytes(*length));
    rest.get_mut(..claimed)
        .ok_or(MalformedPayload { claimed, available })
}
