//! Errors in bytes that should be a packet.

use std::fmt;

/// The header in which an error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Header {
    /// Not known yet: the version field itself.
    Ip,
    /// IPv4 (RFC 791).
    Ipv4,
    /// IPv6 (RFC 8200).
    Ipv6,
    /// An extension header of IPv6.
    Ipv6Extension,
    /// TCP (RFC 9293).
    Tcp,
    /// UDP (RFC 768).
    Udp,
    /// ICMP (RFC 792) or `ICMPv6` (RFC 4443).
    Icmp,
}

impl fmt::Display for Header {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Ip => "IP header",
            Self::Ipv4 => "IPv4 header",
            Self::Ipv6 => "IPv6 header",
            Self::Ipv6Extension => "IPv6 extension header",
            Self::Tcp => "TCP header",
            Self::Udp => "UDP header",
            Self::Icmp => "ICMP header",
        })
    }
}

/// Reason why bytes are not a packet. All lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end before the header does.
    #[error("{header}: {available} bytes where it needs {needed}")]
    TooShort {
        /// The header.
        header: Header,
        /// Length that the header needs.
        needed: usize,
        /// Length that is available.
        available: usize,
    },
    /// The version field does not match the header.
    #[error("{header}: version {version} does not belong here")]
    Version {
        /// The header that was expected.
        header: Header,
        /// The version found.
        version: u8,
    },
    /// The header length is less than its fixed part, or more than the enclosing packet.
    #[error("{header}: header length {length} is not possible")]
    HeaderLength {
        /// The header.
        header: Header,
        /// The length that it claims.
        length: usize,
    },
    /// The total length is less than the header's, or more than the bytes that are available.
    #[error("{header}: total length {length} does not fit the {available} bytes that are there")]
    TotalLength {
        /// The header.
        header: Header,
        /// The length that it claims.
        length: usize,
        /// Length that is available.
        available: usize,
    },
    /// A TCP option has a length that its kind cannot have, or runs beyond the header.
    #[error("TCP option of kind {kind}: length {length} is not possible")]
    OptionLength {
        /// The option's kind.
        kind: u8,
        /// The length that it claims; 0 if the header ends before the length.
        length: u8,
    },
    /// A partial checksum's place lies outside of the packet.
    #[error("checksum at {offset} after {start} lies outside of the packet of {available} bytes")]
    ChecksumPlace {
        /// Start of the sum, from the packet's first byte.
        start: usize,
        /// Position of the checksum field, from `start`.
        offset: usize,
        /// Length that is available.
        available: usize,
    },
}

/// Checks that `bytes` hold at least `needed` bytes.
pub(crate) fn require(header: Header, bytes: &[u8], needed: usize) -> Result<(), Malformed> {
    if bytes.len() < needed {
        return Err(Malformed::TooShort {
            header,
            needed,
            available: bytes.len(),
        });
    }
    Ok(())
}
