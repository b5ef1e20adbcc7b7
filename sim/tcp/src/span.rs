//! Ranges of positions in a stream.

use std::ops::Range;

/// Positions from `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Span {
    pub(crate) fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    pub(crate) fn length(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.end <= self.start
    }

    pub(crate) fn contains(self, position: u64) -> bool {
        self.start <= position && position < self.end
    }

    pub(crate) fn range(self) -> Range<u64> {
        self.start..self.end
    }
}

impl From<Range<u64>> for Span {
    fn from(range: Range<u64>) -> Self {
        Self::new(range.start, range.end)
    }
}
