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

    /// The sequence number of a position.
    pub(crate) fn number(self, position: u64) -> SeqNumber {
        self.first + position as u32
    }

    /// How far `number` lies ahead of the position `of`; negative when behind.
    pub(crate) fn ahead(self, number: SeqNumber, of: u64) -> i64 {
        i64::from(number.distance_from(self.number(of)))
    }

    /// The position of `number` that is nearest to `near`; nothing before the stream's first.
    pub(crate) fn position(self, number: SeqNumber, near: u64) -> Option<u64> {
        near.checked_add_signed(self.ahead(number, near))
    }
}
