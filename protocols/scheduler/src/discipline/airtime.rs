//! The same share of airtime to each.

use units::Duration;

use super::{Discipline, Marks};
use crate::lines::Line;

/// What a line gets in a round, at least, in nanoseconds.
const QUANTUM_MIN: i64 = 1_000_000;
/// The most that a line can owe, in nanoseconds.
const DEBT_MAX: i64 = 1_000_000_000;

/// Deficit round robin (Shreedhar and Varghese 1995) whose deficits are airtime: what is scarce is shared, so a line
/// whose frames are long, slow or repeated takes nothing from the others. What is sent beyond a line's turn, such as
/// repairs, is owed, and an empty line keeps what it owes. While a line is marked it gets nothing to save up.
#[derive(Debug)]
pub(super) struct Airtime {
    next_turn: u64,
    /// The longest transmission so far: less in a round would let lines pass without being served.
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
