//! The numbers by which headers name versions and protocols.

use serde::{Deserialize, Serialize};

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

/// Protocol number of the header that follows (IANA "Assigned Internet Protocol Numbers").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Protocol(pub u8);

impl Protocol {
    /// ICMP for IPv4.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// `ICMPv6`.
    pub const ICMP_V6: Self = Self(58);

    pub(super) const IPV6_HOP_BY_HOP: Self = Self(0);
    pub(super) const IPV6_ROUTING: Self = Self(43);
    pub(super) const IPV6_FRAGMENT: Self = Self(44);
    pub(super) const AUTHENTICATION: Self = Self(51);
    pub(super) const IPV6_DESTINATION: Self = Self(60);

    pub(super) fn is_ipv6_extension(self) -> bool {
        matches!(
            self,
            Self::IPV6_HOP_BY_HOP
                | Self::IPV6_ROUTING
                | Self::IPV6_FRAGMENT
                | Self::AUTHENTICATION
                | Self::IPV6_DESTINATION
        )
    }
}
