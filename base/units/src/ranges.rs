//! Sets of numbers as ranges.

use std::ops::Range;

/// A set of numbers, kept as sorted, disjoint, non-adjacent half-open ranges.
///
/// Changes near the upper end, the usual case, are cheap; memory is one pair of numbers a range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    /// Adds a range; returns the number of its members that were not in the set.
    pub fn insert(&mut self, added: Range<u64>) -> u64 {
        self.insert_up_to(usize::MAX, added)
    }

    /// Adds a range unless the set would then have more than `most` ranges; returns the number of its members that
    /// were not in the set and now are.
    pub fn insert_up_to(&mut self, most: usize, added: Range<u64>) -> u64 {
        if added.is_empty() {
            return 0;
        }
        let first = self.ranges.partition_point(|range| range.end < added.start);
        let last = self
            .ranges
            .partition_point(|range| range.start <= added.end);
        if first == last {
            if self.ranges.len() >= most {
                return 0;
            }
            let count = added.end - added.start;
            self.ranges.insert(first, added);
            return count;
        }
        let before = total(&self.ranges[first..last]);
        let start = self.ranges[first].start.min(added.start);
        let end = self.ranges[last - 1].end.max(added.end);
        self.ranges[first] = start..end;
        self.ranges.drain(first + 1..last);
        (end - start) - before
    }

    /// Adds those members of `added` that are not in `except`.
    pub fn insert_except(&mut self, added: Range<u64>, except: &Self) {
        let mut start = added.start;
        for hole in except.within(&added) {
            self.insert(start..hole.start);
            start = hole.end;
        }
        self.insert(start..added.end);
    }

    /// Removes every member of `gone`.
    pub fn remove(&mut self, gone: &Range<u64>) {
        let first = self.first_ending_after(gone.start);
        let last = self.ranges.partition_point(|range| range.start < gone.end);
        if gone.is_empty() || first >= last {
            return;
        }
        let left = self.ranges[first].start..gone.start;
        let right = gone.end..self.ranges[last - 1].end;
        let kept = [left, right].into_iter().filter(|range| !range.is_empty());
        self.ranges.splice(first..last, kept);
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Returns true if `number` is in the set.
    pub fn contains(&self, number: u64) -> bool {
        self.range_at(number).is_some()
    }

    /// Returns true if all of `range` is in the set.
    pub fn covers(&self, range: &Range<u64>) -> bool {
        let around = self.range_at(range.start);
        range.is_empty() || around.is_some_and(|around| around.end >= range.end)
    }

    /// Returns the range that `number` lies in.
    pub fn range_at(&self, number: u64) -> Option<Range<u64>> {
        let range = self.ranges.get(self.first_ending_after(number))?;
        (range.start <= number).then(|| range.clone())
    }

    /// Returns the lowest range.
    pub fn first(&self) -> Option<Range<u64>> {
        self.ranges.first().cloned()
    }

    /// Returns the lowest member that is at least `number`.
    pub fn first_from(&self, number: u64) -> Option<u64> {
        let range = self.ranges.get(self.first_ending_after(number))?;
        Some(range.start.max(number))
    }

    /// Returns the number after the highest member.
    pub fn end(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.end)
    }

    /// Returns the parts of `range` that are in the set, in order.
    pub fn within(&self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let Range { start, end } = *range;
        self.ranges[self.first_ending_after(start)..]
            .iter()
            .take_while(move |own| own.start < end)
            .map(move |own| own.start.max(start)..own.end.min(end))
            .filter(|part| !part.is_empty())
    }

    /// Returns the lowest part of `range` that is in the set.
    pub fn first_within(&self, range: &Range<u64>) -> Option<Range<u64>> {
        self.within(range).next()
    }

    /// Returns the ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }

    /// Returns the number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the number of members.
    pub fn total(&self) -> u64 {
        total(&self.ranges)
    }

    /// Returns true if the set has no member.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the memory that the set takes, in bytes.
    pub fn memory(&self) -> usize {
        self.ranges.capacity() * size_of::<Range<u64>>()
    }

    /// Frees memory that the set does not need.
    pub fn shrink(&mut self) {
        self.ranges.shrink_to_fit();
    }

    /// Removes the lowest ranges beyond the `kept` highest.
    pub fn keep_highest(&mut self, kept: usize) {
        let excess = self.ranges.len().saturating_sub(kept);
        self.ranges.drain(..excess);
    }

    /// Removes the highest ranges beyond the `kept` lowest.
    pub fn keep_lowest(&mut self, kept: usize) {
        self.ranges.truncate(kept);
    }

    /// Returns the index of the first range that ends after `number`.
    fn first_ending_after(&self, number: u64) -> usize {
        self.ranges.partition_point(|range| range.end <= number)
    }
}

fn total(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}
