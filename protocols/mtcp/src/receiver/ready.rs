//! The data that have arrived in order and wait for the application.

use std::collections::VecDeque;

use redirector::Content;

use super::held::Run;

/// Data in order, with their number of pieces.
#[derive(Debug, Clone)]
pub(crate) struct Ready<C> {
    content: C,
    /// Remaining bytes and pieces of each run that is not wholly taken.
    runs: VecDeque<(u64, usize)>,
    pieces: usize,
}

impl<C: Content> Ready<C> {
    pub(crate) fn new() -> Self {
        Self {
            content: C::default(),
            runs: VecDeque::new(),
            pieces: 0,
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.content.length()
    }

    pub(crate) fn pieces(&self) -> usize {
        self.pieces
    }

    pub(crate) fn append(&mut self, run: Run<C>) {
        self.pieces += run.pieces;
        self.runs.push_back((run.content.length(), run.pieces));
        self.content.append(run.content);
    }

    /// Takes up to `count` bytes.
    pub(crate) fn take(&mut self, count: u64) -> C {
        let taken = self.content.take_front(count);
        let mut rest = taken.length();
        while let Some((left, pieces)) = self.runs.front_mut() {
            if *left > rest {
                *left -= rest;
                break;
            }
            rest -= *left;
            self.pieces -= *pieces;
            self.runs.pop_front();
        }
        taken
    }
}
