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
    pub(crate) tally: Status,
    /// Where it stands among those with something waiting.
    place: Option<Place>,
}

/// Before a line stand the unmarked ones and those of a lower rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    marked: bool,
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
            tally: Status::default(),
            place: None,
        }
    }
}

/// All destinations, by number, and those with something waiting, by rank.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    by_number: Vec<Option<Line>>,
    unmarked: BTreeSet<(u64, Destination)>,
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

    fn order(&mut self, marked: bool) -> &mut BTreeSet<(u64, Destination)> {
        if marked {
            &mut self.marked
        } else {
            &mut self.unmarked
        }
    }

    /// Puts a destination where its mark, if it counts, and its rank want it; nowhere without a rank.
    pub(crate) fn place(&mut self, destination: Destination, wanted: Option<(bool, u64)>) {
        let Some(line) = self.get_mut(destination) else {
            return;
        };
        let wanted = wanted.map(|(marked, rank)| Place { marked, rank });
        let before = std::mem::replace(&mut line.place, wanted);
        if before == wanted {
            return;
        }
        if let Some(place) = before {
            self.order(place.marked).remove(&(place.rank, destination));
        }
        if let Some(place) = wanted {
            self.order(place.marked).insert((place.rank, destination));
        }
    }

    /// Who is next among the marked ones or the others.
    pub(crate) fn first(&self, marked: bool) -> Option<Destination> {
        let order = if marked { &self.marked } else { &self.unmarked };
        order.first().map(|(_, destination)| *destination)
    }
}
