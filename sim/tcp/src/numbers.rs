//! Sequence numbers as positions in a stream that never wrap.

use units::SeqNumber;

/// The numbering of one direction: position 0 is the SYN, data start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    first: SeqNumber,
}

impl Numbers {
    pub(crate) fn new(first: SeqNumber) -> Self {
        Self { first }
    }

    /// Returns the sequence number of a position.
    pub(crate) fn number(self, position: u64) -> SeqNumber {
        self.first + position as u32
    }

    /// Returns the distance of `number` from the position `of`; negative if it lies before.
    pub(crate) fn ahead(self, number: SeqNumber, of: u64) -> i64 {
        i64::from(number.distance_from(self.number(of)))
    }

    /// Returns the position of `number` that is nearest to `near`; `None` before the start of the stream.
    pub(crate) fn position(self, number: SeqNumber, near: u64) -> Option<u64> {
        near.checked_add_signed(self.ahead(number, near))
    }
}
