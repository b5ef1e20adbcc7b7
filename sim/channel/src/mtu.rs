//! The largest packet of a direction.

use serde::Deserialize;
use units::Bytes;

/// Bytes of an Ethernet frame around its IP packet; the frame check sequence is not counted.
const FRAME_HEADER: u64 = 14;

/// Size of the largest IP packet, in bytes. Routers that drop longer packets without an ICMP message are the usual
/// case, so the channel sends none; a driver that needs one makes it from the dropped packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mtu(u16);

impl Mtu {
    /// Allowed values: from the smallest MTU of IPv4 (RFC 791) to the largest length of an IP packet.
    const ALLOWED: std::ops::RangeInclusive<i64> = 68..=65_535;

    /// Returns true if it admits a packet whose Ethernet frame has `size`.
    pub(crate) fn admits(self, size: Bytes) -> bool {
        size.get() <= u64::from(self.0) + FRAME_HEADER
    }

    /// Returns the size in bytes.
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
