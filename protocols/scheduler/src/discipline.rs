//! The disciplines: one rule a file.

mod airtime;
mod longest_queue;
mod round_robin;
mod timestamp;

use std::fmt::Debug;

use units::Duration;

use self::airtime::Airtime;
use self::longest_queue::LongestQueue;
use self::round_robin::RoundRobin;
use self::timestamp::EarliestTimestamp;
use crate::config;
use crate::lines::Line;

/// Effect of a mark on a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    /// No effect.
    Ignored,
    /// The destination is served only if no other has frames.
    Last,
    /// It is not served.
    Never,
}

/// Decisions of a discipline. The dispatcher does everything else.
pub(crate) trait Discipline: Debug + Send {
    /// Returns the effect of marks.
    fn marks(&self) -> Marks;

    /// Returns the rank of a queue with frames: the lowest is served next.
    fn rank(&self, line: &Line) -> u64;

    /// Notes that frames arrived in an empty queue.
    fn filled(&mut self, _line: &mut Line) {}

    /// Notes that the air was used for the queue.
    fn sent(&mut self, _line: &mut Line, _airtime: Duration) {}

    /// Notes that the queue's turn was used by a probe that was not answered.
    fn passed(&mut self, _line: &mut Line) {}

    /// Notes that a frame has left the queue: it was delivered, or given up.
    fn left(&mut self, _line: &mut Line) {}

    /// Returns true if the first queue may be served; if not, it gets a new rank.
    fn admits(&mut self, _line: &mut Line) -> bool {
        true
    }
}

/// Returns the chosen discipline.
pub(crate) fn of(chosen: config::Discipline) -> Box<dyn Discipline> {
    use config::Discipline as Name;
    match chosen {
        Name::Fifo => Box::new(EarliestTimestamp::new(Marks::Ignored)),
        Name::CsdpEarliestTimestamp => Box::new(EarliestTimestamp::new(Marks::Last)),
        Name::RoundRobin => Box::new(RoundRobin::persistent()),
        Name::RoundRobinDeferring => Box::new(RoundRobin::deferring(Marks::Ignored)),
        Name::CsdpRoundRobin => Box::new(RoundRobin::deferring(Marks::Last)),
        Name::CsdpLongestQueue => Box::new(LongestQueue::new(Marks::Last)),
        Name::LongestConnectedQueue => Box::new(LongestQueue::new(Marks::Never)),
        Name::Airtime => Box::new(Airtime::default()),
    }
}
