//! The report of a packet on the other direction: acknowledgement, window, and missing data.

use redirector::Content;
use units::Instant;

use super::Receiver;
use crate::config::Selective;
use crate::packet::{Hole, Holes};

/// Report of a packet on the other direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) acknowledgment: u32,
    pub(crate) window: u16,
    pub(crate) negative: u32,
    pub(crate) further: Holes,
    pub(crate) request: bool,
    pub(crate) cause: bool,
    pub(crate) reply: u16,
}

impl<C: Content> Receiver<C> {
    /// Returns the report for the next packet, with at most `room` further holes. It acknowledges everything that
    /// waited.
    pub(crate) fn report(&mut self, room: usize, now: Instant) -> Report {
        self.pace.reported = now;
        let due = std::mem::take(&mut self.due);
        self.due.now = due.again > 0;
        self.due.again = due.again.saturating_sub(1);
        let next = self.progress.next;
        let window = self.window_end().saturating_sub(next) >> self.size.shift;
        let window = window.min(u16::MAX.into()) as u16;
        let announced = next + (u64::from(window) << self.size.shift);
        self.progress.edge = self.progress.edge.max(announced);
        let selective = self.rules.repair.selective;
        let negative = match selective {
            Selective::Burst => self.first_hole() as u32,
            Selective::Cumulative => 0,
            Selective::Smart => self.numbers.number(self.cause.position),
        };
        let room = room.min(self.rules.repair.further_holes);
        let further = if selective == Selective::Burst && room > 0 && !self.held.is_empty() {
            self.further_holes(room)
        } else {
            Holes::default()
        };
        Report {
            acknowledgment: self.numbers.number(next),
            window,
            negative,
            further,
            request: due.request || (self.rules.news_only && self.asks_again()),
            cause: selective == Selective::Smart,
            // What was overtaken and may be late is not reported as lost.
            reply: self.order.settled().unwrap_or(self.cause.cycle),
        }
    }

    /// Returns up to `room` holes besides the first: the last one, which was reported least often, and others in
    /// turn.
    fn further_holes(&mut self, room: usize) -> Holes {
        let mut holes = Holes::default();
        let next = self.progress.next;
        let Some((last, last_end)) = self.held.last_hole() else {
            return holes;
        };
        let hole = |start: u64, end: u64| Hole {
            offset: (start - next) as u32,
            length: (end - start) as u32,
        };
        holes.push(hole(last, last_end));
        for _ in 1..room {
            let first = self.held.start().unwrap_or(next);
            let turn = self.cause.turn.max(first);
            let found = self.held.hole_after(turn);
            let found = found.or_else(|| self.held.hole_after(first));
            let Some((start, end)) = found else { break };
            self.cause.turn = if start == last { first } else { end };
            let seen = |told: &Hole| u64::from(told.offset) == start - next;
            if holes.as_slice().iter().any(seen) {
                break;
            }
            holes.push(hole(start, end));
        }
        holes
    }
}
