//! A set of bytes of a file.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers, as the fewest ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// Where each range begins and ends; a gap lies before the next.
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// How many ranges there are.
    pub(crate) fn pieces(&self) -> usize {
        self.ends.len()
    }

    /// How many numbers there are.
    pub(crate) fn total(&self) -> u64 {
        self.ends.iter().map(|(start, end)| end - start).sum()
    }

    /// The parts of `range` that are in the set, in order.
    pub(crate) fn within(&self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let Range { start, end } = *range;
        let reaching_in = self.ends.range(..start).next_back();
        let inside = self.ends.range(start..end.max(start));
        reaching_in
            .into_iter()
            .chain(inside)
            .map(move |(&from, &to)| from.max(start)..to.min(end))
            .filter(|part| !part.is_empty())
    }

    /// Whether any of `range` is in the set.
    pub(crate) fn meets(&self, range: &Range<u64>) -> bool {
        self.within(range).next().is_some()
    }

    /// Adds `range`.
    pub(crate) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        if let Some((&from, &to)) = self.ends.range(..start).next_back()
            && to >= start
        {
            start = from;
            end = end.max(to);
        }
        while let Some((&from, &to)) = self.ends.range(start..=end).next() {
            self.ends.remove(&from);
            end = end.max(to);
        }
        self.ends.insert(start, end);
    }

    /// Takes `range` out.
    pub(crate) fn remove(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        if let Some((_, to)) = self.ends.range_mut(..range.start).next_back()
            && *to > range.start
        {
            let end = std::mem::replace(to, range.start);
            self.ends.insert(range.start, end);
        }
        while let Some((&from, &to)) = self.ends.range(range.start..range.end).next() {
            self.ends.remove(&from);
            if to > range.end {
                self.ends.insert(range.end, to);
            }
        }
    }
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;
