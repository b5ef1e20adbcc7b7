//! Ranges of sequence numbers.

use units::SeqNumber;

/// Largest number of ranges in a [`SackRanges`]: an option has no room for more.
const RANGES_MAX: usize = 4;

/// The bytes from `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeqRange {
    /// Its first byte.
    pub start: SeqNumber,
    /// The number after its last byte.
    pub end: SeqNumber,
}

impl SeqRange {
    /// Returns the `length` bytes from `start` on.
    pub fn of(start: SeqNumber, length: u32) -> Self {
        let end = start + length;
        Self { start, end }
    }

    /// Returns the number of bytes; zero if the end precedes the start.
    pub fn length(self) -> u32 {
        u32::try_from(self.end.distance_from(self.start)).unwrap_or(0)
    }

    /// Returns true if the range has no byte.
    pub fn is_empty(self) -> bool {
        self.length() == 0
    }

    /// Returns true if `number` lies in the range.
    pub fn contains(self, number: SeqNumber) -> bool {
        self.start <= number && number < self.end
    }
}

/// Up to four ranges in the order of their option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackRanges {
    ranges: [SeqRange; RANGES_MAX],
    count: u8,
}

impl SackRanges {
    /// Appends a range, if there are fewer than four.
    pub fn push(&mut self, range: SeqRange) {
        if let Some(slot) = self.ranges.get_mut(usize::from(self.count)) {
            *slot = range;
            self.count += 1;
        }
    }

    /// Returns the ranges in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SeqRange> + '_ {
        self.as_slice().iter().copied()
    }

    /// Returns the ranges in their order.
    pub fn as_slice(&self) -> &[SeqRange] {
        &self.ranges[..usize::from(self.count)]
    }

    /// Returns the number of ranges.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Returns true if there are no ranges.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Collects the first four ranges.
impl FromIterator<SeqRange> for SackRanges {
    fn from_iter<I: IntoIterator<Item = SeqRange>>(ranges: I) -> Self {
        let mut collected = Self::default();
        for range in ranges.into_iter().take(RANGES_MAX) {
            collected.push(range);
        }
        collected
    }
}
