//! Sets of numbers as ranges.

use std::ops::Range;

/// A set of numbers, kept as sorted, disjoint, non-adjacent half-open ranges.
///
/// Changes near the upper end, the usual case, cost little; memory is one pair a range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    /// Adds a range; returns how many of its numbers were not in the set.
    pub fn insert(&mut self, added: Range<u64>) -> u64 {
        if added.is_empty() {
            return 0;
        }
        let first = self.ranges.partition_point(|range| range.end < added.start);
        let last = self
            .ranges
            .partition_point(|range| range.start <= added.end);
        if first == last {
            let count = added.end - added.start;
            self.ranges.insert(first, added);
            return count;
        }
        let before: u64 = self.ranges[first..last]
            .iter()
            .map(|range| range.end - range.start)
            .sum();
        let start = self.ranges[first].start.min(added.start);
        let end = self.ranges[last - 1].end.max(added.end);
        self.ranges[first] = start..end;
        self.ranges.drain(first + 1..last);
        (end - start) - before
    }

    /// Takes every number of `gone` out of the set.
    pub fn remove(&mut self, gone: Range<u64>) {
        if gone.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|range| range.end <= gone.start);
        let last = self.ranges.partition_point(|range| range.start < gone.end);
        if first >= last {
            return;
        }
        let left = self.ranges[first].start..gone.start;
        let right = gone.end..self.ranges[last - 1].end;
        let kept = [left, right].into_iter().filter(|range| !range.is_empty());
        self.ranges.splice(first..last, kept);
    }

    /// Adds those numbers of `added` that are not in `except`.
    pub fn insert_except(&mut self, added: Range<u64>, except: &Self) {
        let mut start = added.start;
        let from = except
            .ranges
            .partition_point(|range| range.end <= added.start);
        for hole in except.ranges[from..]
            .iter()
            .take_while(|range| range.start < added.end)
        {
            self.insert(start..hole.start.max(start));
            start = hole.end;
        }
        self.insert(start..added.end.max(start));
    }

    /// Whether `number` is in the set.
    pub fn contains(&self, number: u64) -> bool {
        let place = self.ranges.partition_point(|range| range.end <= number);
        self.ranges
            .get(place)
            .is_some_and(|range| range.start <= number)
    }

    /// Whether all of `range` is in the set.
    pub fn covers(&self, wanted: &Range<u64>) -> bool {
        let place = self
            .ranges
            .partition_point(|range| range.end <= wanted.start);
        wanted.is_empty()
            || self
                .ranges
                .get(place)
                .is_some_and(|range| range.start <= wanted.start && range.end >= wanted.end)
    }

    /// The lowest range.
    pub fn first(&self) -> Option<Range<u64>> {
        self.ranges.first().cloned()
    }

    /// The lowest part of `range` that is in the set.
    pub fn first_within(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let place = self.ranges.partition_point(|own| own.end <= range.start);
        let own = self.ranges.get(place).filter(|own| own.start < range.end)?;
        Some(own.start.max(range.start)..own.end.min(range.end))
    }

    /// The ranges, from the highest down.
    pub fn descending(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().rev().cloned()
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes that it holds.
    pub fn memory(&self) -> usize {
        self.ranges.capacity() * size_of::<Range<u64>>()
    }

    /// Gives back room that it does not need.
    pub fn shrink(&mut self) {
        self.ranges.shrink_to_fit();
    }

    /// Forgets the lowest ranges beyond the `kept` highest.
    pub fn keep_highest(&mut self, kept: usize) {
        let excess = self.ranges.len().saturating_sub(kept);
        self.ranges.drain(..excess);
    }
}
