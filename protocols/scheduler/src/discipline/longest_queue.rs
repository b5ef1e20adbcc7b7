//! The longest queue first.

use super::{Discipline, Marks};
use crate::lines::Line;

/// Serves the queue with the most bytes (Bhagwat et al. 1996). If marks forbid service, this is the longest connected
/// queue, which keeps queues stable under Poisson arrivals whenever any policy does (Tassiulas and Ephremides 1993).
#[derive(Debug)]
pub(super) struct LongestQueue {
    marks: Marks,
}

impl LongestQueue {
    pub(super) fn new(marks: Marks) -> Self {
        Self { marks }
    }
}

impl Discipline for LongestQueue {
    fn marks(&self) -> Marks {
        self.marks
    }

    fn rank(&self, line: &Line) -> u64 {
        let bytes = line.waiting.map_or(0, |waiting| waiting.bytes.get());
        u64::MAX - bytes
    }
}
