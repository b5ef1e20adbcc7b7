//! The data that have arrived beyond a hole.

use std::collections::BTreeMap;

use redirector::Content;

/// A range of data without a hole.
#[derive(Debug, Clone)]
pub(crate) struct Run<C> {
    pub(crate) content: C,
    /// Number of pieces in it.
    pub(crate) pieces: usize,
}

impl<C: Content> Run<C> {
    fn length(&self) -> u64 {
        self.content.length()
    }

    fn append(&mut self, other: Self) {
        self.content.append(other.content);
        self.pieces += other.pieces;
    }
}

/// Runs by their start positions; no run touches another.
#[derive(Debug, Clone)]
pub(crate) struct Held<C> {
    runs: BTreeMap<u64, Run<C>>,
    pieces: usize,
}

impl<C: Content> Held<C> {
    pub(crate) fn new() -> Self {
        Self {
            runs: BTreeMap::new(),
            pieces: 0,
        }
    }

    /// Returns the number of pieces in all runs.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces
    }

    /// Returns the number of bytes in all runs.
    pub(crate) fn length(&self) -> u64 {
        self.runs.values().map(Run::length).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the position after the last run.
    pub(crate) fn end(&self) -> Option<u64> {
        let (start, run) = self.runs.last_key_value()?;
        Some(start + run.length())
    }

    /// Returns the start of the first run, if there is one.
    pub(crate) fn start(&self) -> Option<u64> {
        self.runs.keys().next().copied()
    }

    /// Inserts `content` at its position. Returns false if all of it was there already.
    pub(crate) fn insert(&mut self, mut start: u64, mut content: C) -> bool {
        let mut any = false;
        loop {
            if let Some(end) = self.end_of_run_at(start) {
                content.take_front(end - start);
                start = end;
            }
            if content.length() == 0 {
                return any;
            }
            let next = self.runs.range(start..).next().map(|(next, _)| *next);
            let fits = next.map_or(u64::MAX, |next| next - start);
            let part = content.take_front(fits);
            let length = part.length();
            self.put(start, part);
            start += length;
            any = true;
        }
    }

    /// Returns the end of the run that holds `position`, if one does.
    fn end_of_run_at(&self, position: u64) -> Option<u64> {
        let (start, run) = self.runs.range(..=position).next_back()?;
        Some(start + run.length()).filter(|end| *end > position)
    }

    /// Inserts content into free space, and joins it with the runs that it touches.
    fn put(&mut self, start: u64, content: C) {
        self.pieces += 1;
        let end = start + content.length();
        let piece = Run { content, pieces: 1 };
        let following = self.runs.remove(&end);
        let before = self.runs.range_mut(..start).next_back();
        let run = match before {
            Some((first, run)) if first + run.length() == start => {
                run.append(piece);
                run
            }
            _ => self.runs.entry(start).or_insert(piece),
        };
        if let Some(following) = following {
            run.append(following);
        }
    }

    /// Takes all data out, with their positions.
    pub(crate) fn suspend(&mut self) -> Vec<(u64, C)> {
        self.pieces = 0;
        let runs = std::mem::take(&mut self.runs).into_iter();
        runs.map(|(start, run)| (start, run.content)).collect()
    }

    /// Takes out the data that follow `position` without a hole, if there are any.
    pub(crate) fn take_at(&mut self, position: u64) -> Option<Run<C>> {
        let entry = self.runs.first_entry()?;
        if *entry.key() > position {
            return None;
        }
        let (start, mut run) = entry.remove_entry();
        self.pieces -= run.pieces;
        run.content.take_front(position - start);
        Some(run)
    }

    /// Returns start and end of the first hole after `position`, which lies in a run or before one.
    pub(crate) fn hole_after(&self, position: u64) -> Option<(u64, u64)> {
        let (end, _) = self.runs.range(position + 1..).next()?;
        let before = self.runs.range(..end).next_back();
        before.map(|(start, run)| (start + run.length(), *end))
    }

    /// Returns start and end of the last hole between two runs, if there is one.
    pub(crate) fn last_hole(&self) -> Option<(u64, u64)> {
        let mut last = self.runs.iter().rev();
        let (end, _) = last.next()?;
        last.next().map(|(start, run)| (start + run.length(), *end))
    }
}
