//! One after the other.

use units::Duration;

use super::{Discipline, Marks};
use crate::lines::{Line, Probe};

/// Lines stand in a ring; each sends as many frames in its turn as it has weight (Bhagwat et al. 1996).
#[derive(Debug)]
pub(super) struct RoundRobin {
    marks: Marks,
    /// Whether a turn lasts until a frame has left the line, however often it fails.
    persists: bool,
    next_turn: u64,
}

impl RoundRobin {
    /// Tries the head of a line until it is delivered or given up.
    pub(super) fn persistent() -> Self {
        Self {
            marks: Marks::Ignored,
            persists: true,
            next_turn: 0,
        }
    }

    /// Leaves a frame that failed for the next round.
    pub(super) fn deferring(marks: Marks) -> Self {
        Self {
            marks,
            persists: false,
            next_turn: 0,
        }
    }

    /// The line stands last in the ring.
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
