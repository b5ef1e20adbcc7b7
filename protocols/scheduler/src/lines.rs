//! The queues of all destinations, and the order of service.

use std::collections::BTreeSet;

use crate::monitor::Channel;
use crate::{Destination, Status, Waiting};

/// Queue of a destination.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) weight: u16,
    pub(crate) waiting: Option<Waiting>,
    /// Place in a ring: the lowest is served next.
    pub(crate) turn: u64,
    /// Credit left for its turn: transmissions, or nanoseconds of airtime, depending on the discipline.
    pub(crate) credit: i64,
    pub(crate) channel: Channel,
    /// Set if the monitor wants a probe, to detect the end of a fade.
    pub(crate) wants_probe: bool,
    pub(crate) probe: Probe,
    pub(crate) tally: Status,
    /// Place among the queues with frames.
    place: Option<Place>,
}

/// State of the latest probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Probe {
    /// There is none, or it was answered or lost.
    #[default]
    None,
    /// The destination was chosen for a probe.
    Chosen,
    /// It was sent.
    Sent,
}

/// Class of a queue in the order of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceClass {
    /// Frames to a channel that is not marked.
    Open,
    /// A probe of a marked channel.
    Due,
    /// Frames to a marked channel.
    Marked,
}

/// Place in the order of service: lower ranks come first; marked destinations have their own order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    standing: ServiceClass,
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

/// Queues of all destinations by number, and those with frames by rank.
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

    /// Adds a destination, or changes its weight.
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

    fn order(&mut self, standing: ServiceClass) -> &mut BTreeSet<(u64, Destination)> {
        match standing {
            ServiceClass::Open => &mut self.open,
            ServiceClass::Due => &mut self.due,
            ServiceClass::Marked => &mut self.marked,
        }
    }

    /// Moves a destination to the `wanted` place, or out of the order if there is none.
    pub(crate) fn place(&mut self, destination: Destination, wanted: Option<(ServiceClass, u64)>) {
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

    /// Returns the first destination by rank among the unmarked ones and those to be probed.
    pub(crate) fn first(&self) -> Option<Destination> {
        let (open, due) = (self.open.first(), self.due.first());
        let first = open.into_iter().chain(due).min();
        first.map(|(_, destination)| *destination)
    }

    /// Returns the first destination among the marked ones.
    pub(crate) fn first_marked(&self) -> Option<Destination> {
        self.marked.first().map(|(_, destination)| *destination)
    }
}
