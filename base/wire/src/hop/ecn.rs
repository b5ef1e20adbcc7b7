//! Counts of congestion marks in an acknowledgement.

/// Transmissions received in one direction, by the ECN field of their outer headers (RFC 3168). Both count from the
/// beginning of the association, as in RFC 9000 §19.3.2; transmissions with any other field are in neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EcnCounts {
    /// Transmissions that arrived with ECT(0), unchanged.
    pub capable: u64,
    /// Transmissions that a queue marked as "congestion experienced".
    pub marked: u64,
}

impl EcnCounts {
    /// Returns the sum of both.
    pub fn total(self) -> u64 {
        self.capable.saturating_add(self.marked)
    }
}
