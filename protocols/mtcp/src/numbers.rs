//! Sequence numbers as positions in a stream, which never wrap.

use crate::Profile;

/// Sequence numbers of one direction: position 0 is the SYN, data start at 1, and the end of the stream takes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    first: u32,
    bits: u32,
}

impl Numbers {
    /// Returns the numbers of a stream whose SYN has the number `first`, of which the profile keeps the low bits.
    pub(crate) fn new(first: u32, profile: Profile) -> Self {
        let bits = profile.sequence_bits();
        Self { first, bits }
    }

    /// Returns the number of the SYN, in full.
    pub(crate) fn first(self) -> u32 {
        self.first
    }

    /// Returns the same numbers in another profile. A narrower one keeps all bits of the first.
    pub(crate) fn within(self, profile: Profile) -> Self {
        Self::new(self.first, profile)
    }

    /// Returns the sequence number of a position.
    pub(crate) fn number(self, position: u64) -> u32 {
        self.first.wrapping_add(position as u32) & (u32::MAX >> (u32::BITS - self.bits))
    }

    /// Returns half of the number of sequence numbers.
    pub(crate) fn half(self) -> u64 {
        1 << (self.bits - 1)
    }

    /// Returns the distance from the position `of` to `number`; negative if `number` is behind. Correct while the
    /// distance is less than half of the number space.
    pub(crate) fn ahead(self, number: u32, of: u64) -> i64 {
        let unused = u32::BITS - self.bits;
        let distance = number.wrapping_sub(self.number(of)) << unused;
        i64::from(distance.cast_signed() >> unused)
    }

    /// Returns the position of `number` that is nearest to `near`, or none if it lies before the start of the stream.
    pub(crate) fn position(self, number: u32, near: u64) -> Option<u64> {
        near.checked_add_signed(self.ahead(number, near))
    }
}
