//! The destinations, and the order in which they would be served.

use std::collections::BTreeSet;

use crate::monitor::Channel;
use crate::{Destination, Status, Waiting};

/// A destination.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) weight: u16,
    pub(crate) waiting: Option<Waiting>,
    /// Its place in a ring: the lowest is served next.
    pub(crate) turn: u64,
    /// What is left of its turn: transmissions, or nanoseconds of airtime, by the discipline.
    pub(crate) credit: i64,
    pub(crate) channel: Channel,
    /// The monitor wants to know whether its fade has ended.
    pub(crate) wants_probe: bool,
    pub(crate) probe: Probe,
    pub(crate) tally: Status,
    /// Where it stands among those with something waiting.
    place: Option<Place>,
}

/// What became of the latest probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Probe {
    /// It was answered or lost, if there was one.
    #[default]
    None,
    /// The line was chosen for it.
    Chosen,
    /// It was sent.
    Sent,
}

/// What the air is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// For frames to a channel that is not marked.
    Open,
    /// For a probe of one that is.
    Due,
    /// For frames to one that is marked.
    Marked,
}

/// Before a line stand those of a lower rank; who is marked stands apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    standing: Standing,
    rank: u64,
}

impl Line {
    pub(crate) fn new(weight: u16) -> Self {
        Self {
            weight,
            waiting: None,
            turn: 0,
            credit: 0,
            channel: Channel::default(),
            wants_probe: false,
            probe: Probe::None,
            tally: Status::default(),
            place: None,
        }
    }
}

/// All destinations, by number, and those with something waiting, by rank.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    by_number: Vec<Option<Line>>,
    open: BTreeSet<(u64, Destination)>,
    due: BTreeSet<(u64, Destination)>,
    marked: BTreeSet<(u64, Destination)>,
}

impl Lines {
    pub(crate) fn get(&self, destination: Destination) -> Option<&Line> {
        self.by_number.get(usize::from(destination.0))?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, destination: Destination) -> Option<&mut Line> {
        self.by_number.get_mut(usize::from(destination.0))?.as_mut()
    }

    /// The line of a destination that may be new.
    pub(crate) fn join(&mut self, destination: Destination, weight: u16) {
        let index = usize::from(destination.0);
        if self.by_number.len() <= index {
            self.by_number.resize(index + 1, None);
        }
        let line = self.by_number[index].get_or_insert_with(|| Line::new(weight));
        line.weight = weight;
    }

    pub(crate) fn leave(&mut self, destination: Destination) -> Option<Line> {
        self.place(destination, None);
        self.by_number.get_mut(usize::from(destination.0))?.take()
    }

    fn order(&mut self, standing: Standing) -> &mut BTreeSet<(u64, Destination)> {
        match standing {
            Standing::Open => &mut self.open,
            Standing::Due => &mut self.due,
            Standing::Marked => &mut self.marked,
        }
    }

    /// Puts a destination where it wants to stand; nowhere without a rank.
    pub(crate) fn place(&mut self, destination: Destination, wanted: Option<(Standing, u64)>) {
        let Some(line) = self.get_mut(destination) else {
            return;
        };
        let wanted = wanted.map(|(standing, rank)| Place { standing, rank });
        let before = std::mem::replace(&mut line.place, wanted);
        if before == wanted {
            return;
        }
        if let Some(place) = before {
            self.order(place.standing)
                .remove(&(place.rank, destination));
        }
        if let Some(place) = wanted {
            self.order(place.standing).insert((place.rank, destination));
        }
    }

    /// Whose turn it is, by rank: among those that are not marked and those that are to be probed.
    pub(crate) fn first(&self) -> Option<Destination> {
        let (open, due) = (self.open.first(), self.due.first());
        let first = open.into_iter().chain(due).min();
        first.map(|(_, destination)| *destination)
    }

    /// Who is next among the marked ones.
    pub(crate) fn first_marked(&self) -> Option<Destination> {
        self.marked.first().map(|(_, destination)| *destination)
    }
}
