//! Deficit round robin by airtime.

use units::Duration;

use super::{Discipline, Marks};
use crate::lines::Line;

/// Smallest quantum of a round, in nanoseconds.
const QUANTUM_MIN: i64 = 1_000_000;
/// Largest debt of a queue, in nanoseconds.
const DEBT_MAX: i64 = 1_000_000_000;

/// Deficit round robin (Shreedhar and Varghese 1995) with deficits of airtime: airtime is the scarce resource, so a
/// queue with long, slow or repeated frames takes nothing from the others. Airtime beyond a queue's turn, such as
/// that of repairs, becomes a debt, and an empty queue keeps its debt. A marked queue saves up no credit.
#[derive(Debug)]
pub(super) struct Airtime {
    next_turn: u64,
    /// Longest transmission so far: a smaller quantum would let turns pass without service.
    quantum: i64,
}

impl Default for Airtime {
    fn default() -> Self {
        Self {
            next_turn: 0,
            quantum: QUANTUM_MIN,
        }
    }
}

impl Airtime {
    fn stand_last(&mut self, line: &mut Line) {
        self.next_turn += 1;
        line.turn = self.next_turn;
    }
}

impl Discipline for Airtime {
    fn marks(&self) -> Marks {
        Marks::Last
    }

    fn rank(&self, line: &Line) -> u64 {
        line.turn
    }

    fn filled(&mut self, line: &mut Line) {
        line.credit = line.credit.min(0);
        self.stand_last(line);
    }

    fn sent(&mut self, line: &mut Line, airtime: Duration) {
        let cost = i64::try_from(airtime.as_nanos()).map_or(DEBT_MAX, |cost| cost.min(DEBT_MAX));
        self.quantum = self.quantum.max(cost);
        line.credit = (line.credit - cost).max(-DEBT_MAX);
    }

    fn passed(&mut self, line: &mut Line) {
        self.stand_last(line);
    }

    fn admits(&mut self, line: &mut Line) -> bool {
        if line.credit > 0 {
            return true;
        }
        line.credit += self.quantum * i64::from(line.weight.max(1));
        self.stand_last(line);
        false
    }
}
