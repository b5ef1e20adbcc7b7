//! The shortest tape that still fails.

use crate::{Tape, Violation, run};

/// Returns a shorter tape that breaks the same promise, and its violation. It makes at most `attempts` runs, and
/// reports each to `progress` with the number of steps that are left.
pub fn shrink(
    tape: &Tape,
    violation: &Violation,
    attempts: u32,
    progress: &mut dyn FnMut(usize),
) -> (Tape, Violation) {
    let mut shrinker = Shrinker {
        best: (tape.clone(), violation.clone()),
        left: attempts,
    };
    let mut size = tape.len().div_ceil(2).max(1);
    loop {
        let mut first = 0;
        while first < shrinker.best.0.len() && shrinker.left > 0 {
            progress(shrinker.best.0.len());
            if !shrinker.is_better(shrinker.best.0.without(first, size)) {
                first += size;
            }
        }
        if size == 1 {
            break;
        }
        size = size.div_ceil(2);
    }
    shrinker.simplify(progress);
    shrinker.best
}

struct Shrinker {
    best: (Tape, Violation),
    left: u32,
}

impl Shrinker {
    /// Keeps `tape` if it breaks the same promise.
    fn is_better(&mut self, tape: Tape) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        match run(&tape) {
            Err(violation) if violation.is_like(&self.best.1) => {
                self.best = (tape, violation);
                true
            }
            _ => false,
        }
    }

    /// Replaces bytes by zero.
    fn simplify(&mut self, progress: &mut dyn FnMut(usize)) {
        let steps = (0..self.best.0.len()).map(Some);
        for step in [None].into_iter().chain(steps) {
            // The first byte of a step is its kind.
            for place in usize::from(step.is_some())..8 {
                progress(self.best.0.len());
                if self.best.0.byte(step, place) != 0 {
                    self.is_better(self.best.0.with_byte(step, place, 0));
                }
            }
        }
    }
}
