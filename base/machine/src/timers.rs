//! Deadlines with names.

use units::Instant;

/// An enumeration of a core's timers, usable as an index.
///
/// `Self::ALL[i].index() == i` must hold for every variant.
pub trait TimerName: Copy + 'static {
    /// Every timer, in the order of its index.
    const ALL: &'static [Self];

    /// The position of this timer in [`Self::ALL`].
    fn index(self) -> usize;
}

/// The most timers that one core may name.
const MOST: usize = 16;

/// A core's deadlines, by name.
#[derive(Debug, Clone)]
pub struct Timers<T> {
    deadlines: [Option<Instant>; MOST],
    names: std::marker::PhantomData<T>,
}

impl<T: TimerName> Default for Timers<T> {
    fn default() -> Self {
        const { assert!(T::ALL.len() <= MOST, "more timers than a table holds") };
        Self {
            deadlines: [None; MOST],
            names: std::marker::PhantomData,
        }
    }
}

impl<T: TimerName> Timers<T> {
    /// Sets `timer` to go off at `deadline`, in place of any earlier setting.
    pub fn set(&mut self, timer: T, deadline: Instant) {
        self.deadlines[timer.index()] = Some(deadline);
    }

    /// Sets `timer` unless it is set for an earlier time already.
    pub fn set_earlier(&mut self, timer: T, deadline: Instant) {
        let slot = &mut self.deadlines[timer.index()];
        *slot = crate::earlier(*slot, Some(deadline));
    }

    /// Makes sure that `timer` does not go off.
    pub fn stop(&mut self, timer: T) {
        self.deadlines[timer.index()] = None;
    }

    /// When `timer` goes off.
    pub fn deadline(&self, timer: T) -> Option<Instant> {
        self.deadlines[timer.index()]
    }

    /// Takes one timer whose deadline has come; it is stopped by this.
    pub fn expire(&mut self, now: Instant) -> Option<T> {
        let due = |timer: &&T| self.deadlines[timer.index()].is_some_and(|at| at <= now);
        let timer = *T::ALL.iter().find(due)?;
        self.stop(timer);
        Some(timer)
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.deadlines.iter().flatten().min().copied()
    }
}
