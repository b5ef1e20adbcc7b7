//! The time that a packet occupies the air.

use units::Instant;

/// The time that one packet occupies the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Airtime {
    /// Start of the transmission.
    pub(crate) start: Instant,
    /// End of the transmission of its last bit.
    pub(crate) finish: Instant,
}
