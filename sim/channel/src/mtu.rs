//! The largest packet that a direction carries.

use serde::Deserialize;
use units::Bytes;

/// What an Ethernet frame has around its IP packet, in bytes; the frame check sequence is not counted.
const FRAME_HEADER: u64 = 14;

/// The largest IP packet, in bytes. Routers that drop longer ones without a word are the usual case, so nothing is
/// sent back here; a driver that wants an ICMP message makes it of the packet that was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mtu(u16);

impl Mtu {
    /// What IPv4 carries at least (RFC 791), and the most that a length field of IP can say.
    const ALLOWED: std::ops::RangeInclusive<i64> = 68..=65_535;

    /// Whether it lets a packet pass whose Ethernet frame has `size`.
    pub(crate) fn admits(self, size: Bytes) -> bool {
        size.get() <= u64::from(self.0) + FRAME_HEADER
    }

    /// In bytes.
    pub const fn bytes(self) -> u16 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Mtu {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match i64::deserialize(input)? {
            bytes if Self::ALLOWED.contains(&bytes) => Ok(Self(bytes as u16)),
            other => Err(serde::de::Error::custom(format!(
                "an MTU of {other} bytes is out of range; allowed: 68 to 65535"
            ))),
        }
    }
}
