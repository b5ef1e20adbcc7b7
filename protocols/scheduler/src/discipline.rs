//! Whose turn it is: one rule a file.

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

/// What it means for a destination to be marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    /// Nothing.
    Ignored,
    /// It is served where nothing else waits.
    Last,
    /// It is not served.
    Never,
}

/// A discipline's decisions. Everything else is the dispatcher's.
pub(crate) trait Discipline: Debug + Send {
    /// What marks mean to it.
    fn marks(&self) -> Marks;

    /// Where a line with something waiting stands: the lowest is served next.
    fn rank(&self, line: &Line) -> u64;

    /// Something waits in a line that was empty.
    fn filled(&mut self, _line: &mut Line) {}

    /// The air was used for the line.
    fn sent(&mut self, _line: &mut Line, _airtime: Duration) {}

    /// The line's turn brought nothing but a probe that was not answered.
    fn passed(&mut self, _line: &mut Line) {}

    /// A frame has left the line for ever: it was delivered, or given up.
    fn left(&mut self, _line: &mut Line) {}

    /// Whether the line that stands first may be served; if not, it stands elsewhere from now on.
    fn admits(&mut self, _line: &mut Line) -> bool {
        true
    }
}

/// The discipline of that name.
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
