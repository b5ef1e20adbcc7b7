//! The oldest frame first.

use super::{Discipline, Marks};
use crate::lines::Line;

/// Serves the frame that arrived first (Bhagwat et al. 1996; FIFO is the same without a monitor).
#[derive(Debug)]
pub(super) struct EarliestTimestamp {
    marks: Marks,
}

impl EarliestTimestamp {
    pub(super) fn new(marks: Marks) -> Self {
        Self { marks }
    }
}

impl Discipline for EarliestTimestamp {
    fn marks(&self) -> Marks {
        self.marks
    }

    fn rank(&self, line: &Line) -> u64 {
        line.waiting
            .map_or(u64::MAX, |waiting| waiting.oldest.as_nanos())
    }
}
