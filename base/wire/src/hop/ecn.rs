//! What an acknowledgement tells of congestion marks.

/// How the transmissions of one direction arrived so far, by the ECN field of their outer headers (RFC 3168). Both
/// count from the beginning of the association, as in RFC 9000 §19.3.2; what arrived with another field is in neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EcnCounts {
    /// Transmissions that arrived with ECT(0), as they were sent.
    pub capable: u64,
    /// Transmissions that a queue on the way marked: congestion experienced.
    pub marked: u64,
}

impl EcnCounts {
    /// Both together.
    pub fn total(self) -> u64 {
        self.capable.saturating_add(self.marked)
    }
}
