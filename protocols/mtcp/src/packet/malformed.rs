//! Errors in bytes that are parsed as a packet.

use std::fmt;

/// A part of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// The first two bytes.
    Code,
    /// A control packet.
    Control,
    /// The header of a data packet.
    Header,
    /// The data.
    Content,
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Code => "code bits",
            Self::Control => "control packet",
            Self::Header => "header of the data packet",
            Self::Content => "content of the data packet",
        })
    }
}

/// Reason why bytes are not an MTCP packet. All lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end too soon.
    #[error("MTCP {field}: {available} bytes where it needs {needed}")]
    Short {
        /// Part that is cut off.
        field: Field,
        /// Required length.
        needed: usize,
        /// Available length.
        available: usize,
    },
    /// The checksum does not match.
    #[error("MTCP {0}: the checksum is wrong; it was damaged on its way")]
    Checksum(Field),
    /// Unknown code bits are set.
    #[error(
        "MTCP code bits {0:#06x} are not known at offset 0; both ends must run the same version of lasthop"
    )]
    Code(u16),
    /// The address family is unknown.
    #[error("MTCP control packet: address family {0} at offset 23 is neither 4 nor 6")]
    Family(u8),
    /// The window shift is too large for any receive buffer.
    #[error("MTCP control packet: a window shift of {0} at offset 22 is more than 10")]
    Shift(u8),
    /// There are more holes than a packet may report.
    #[error("MTCP header: {0} further holes at offset 26 are more than 7")]
    Holes(u8),
    /// A byte that must be zero is not.
    #[error(
        "MTCP header: {0} at offset 27 is not zero; both ends must run the same version of lasthop"
    )]
    Reserved(u8),
    /// The connection ID is zero, although the packet needs one.
    #[error("MTCP {0}: the connection ID at offset 2 is zero")]
    Nameless(Field),
}

impl Malformed {
    pub(super) fn short(field: Field, needed: usize, available: usize) -> Self {
        Self::Short {
            field,
            needed,
            available,
        }
    }
}

/// Checks that `bytes` has at least `needed` bytes.
pub(super) fn require(field: Field, bytes: &[u8], needed: usize) -> Result<(), Malformed> {
    if bytes.len() < needed {
        return Err(Malformed::short(field, needed, bytes.len()));
    }
    Ok(())
}
