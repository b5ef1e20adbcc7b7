//! Ranges of sequence numbers.

use units::SeqNumber;

/// Ranges that [`SackRanges`] holds: as many as an option has room for.
const RANGES_MAX: usize = 4;

/// Bytes from `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeqRange {
    /// Its first byte.
    pub start: SeqNumber,
    /// The byte behind its last.
    pub end: SeqNumber,
}

impl SeqRange {
    /// The `length` bytes from `start` on.
    pub fn of(start: SeqNumber, length: u32) -> Self {
        let end = start + length;
        Self { start, end }
    }

    /// How many bytes it has; none where its end precedes its start.
    pub fn length(self) -> u32 {
        u32::try_from(self.end.distance_from(self.start)).unwrap_or(0)
    }

    /// Whether it has no byte.
    pub fn is_empty(self) -> bool {
        self.length() == 0
    }

    /// Whether `number` lies in it.
    pub fn contains(self, number: SeqNumber) -> bool {
        self.start <= number && number < self.end
    }

    /// Whether the whole of `other` lies in it.
    pub fn encloses(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Up to four ranges in the order of their option, by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackRanges {
    ranges: [SeqRange; RANGES_MAX],
    count: u8,
}

impl SackRanges {
    /// Appends a range, unless there are four.
    pub fn push(&mut self, range: SeqRange) {
        if let Some(slot) = self.ranges.get_mut(usize::from(self.count)) {
            *slot = range;
            self.count += 1;
        }
    }

    /// The ranges in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SeqRange> + '_ {
        self.as_slice().iter().copied()
    }

    /// The ranges in their order.
    pub fn as_slice(&self) -> &[SeqRange] {
        &self.ranges[..usize::from(self.count)]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The first four.
impl FromIterator<SeqRange> for SackRanges {
    fn from_iter<I: IntoIterator<Item = SeqRange>>(ranges: I) -> Self {
        let mut collected = Self::default();
        for range in ranges.into_iter().take(RANGES_MAX) {
            collected.push(range);
        }
        collected
    }
}
