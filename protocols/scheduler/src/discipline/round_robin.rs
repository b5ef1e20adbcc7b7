//! Round robin.

use units::Duration;

use super::{Discipline, Marks};
use crate::lines::{Line, Probe};

/// Queues form a ring; each sends as many frames in its turn as its weight (Bhagwat et al. 1996).
#[derive(Debug)]
pub(super) struct RoundRobin {
    marks: Marks,
    /// True if a turn lasts until a frame has left the queue, however often it fails.
    persists: bool,
    next_turn: u64,
}

impl RoundRobin {
    /// Returns a round robin that tries the head of a queue until it is delivered or given up.
    pub(super) fn persistent() -> Self {
        Self {
            marks: Marks::Ignored,
            persists: true,
            next_turn: 0,
        }
    }

    /// Returns a round robin that leaves a failed frame for the next round.
    pub(super) fn deferring(marks: Marks) -> Self {
        Self {
            marks,
            persists: false,
            next_turn: 0,
        }
    }

    /// Moves the queue to the end of the ring, with new credit.
    fn renew(&mut self, line: &mut Line) {
        self.next_turn += 1;
        line.turn = self.next_turn;
        line.credit = i64::from(line.weight.max(1));
    }

    fn used(&mut self, line: &mut Line) {
        line.credit -= 1;
        if line.credit <= 0 {
            self.renew(line);
        }
    }
}

impl Discipline for RoundRobin {
    fn marks(&self) -> Marks {
        self.marks
    }

    fn rank(&self, line: &Line) -> u64 {
        line.turn
    }

    fn filled(&mut self, line: &mut Line) {
        self.renew(line);
    }

    fn sent(&mut self, line: &mut Line, _airtime: Duration) {
        if !self.persists && line.probe != Probe::Chosen {
            self.used(line);
        }
    }

    fn passed(&mut self, line: &mut Line) {
        self.renew(line);
    }

    fn left(&mut self, line: &mut Line) {
        if self.persists {
            self.used(line);
        }
    }
}
