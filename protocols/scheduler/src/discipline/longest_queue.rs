//! Where the most waits.

use super::{Discipline, Marks};
use crate::lines::Line;

/// The line with the most bytes is served (Bhagwat et al. 1996). Where marks forbid service, this is the longest
/// connected queue, which keeps queues stable under Poisson arrivals whenever anything does (Tassiulas and Ephremides
/// 1993).
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
