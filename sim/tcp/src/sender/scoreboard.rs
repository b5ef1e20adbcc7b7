//! The scoreboard of segments beyond the acknowledged position: those that arrived, those that were lost on the air,
//! those that were retransmitted.

use units::{Instant, RangeSet};

use crate::span::Span;

/// Largest number of ranges in each set; more than a window of 64 KiB can have, and a bound for the memory that a peer
/// can cause.
const RANGES_MAX: usize = 256;
/// Largest number of retransmissions remembered; with more, the recovery waits for an acknowledgement.
const REPAIRS_MAX: usize = 1_024;

/// A retransmitted segment.
#[derive(Debug, Clone, Copy)]
struct Repair {
    span: Span,
    at: Instant,
}

/// Kind of missing data to search for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Data missing before data that arrived.
    Gaps,
    /// Data marked as lost on the air.
    Marked,
    /// Data missing before data that arrived, and not marked.
    Unmarked,
}

/// The scoreboard.
#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    arrived: RangeSet,
    marked: RangeSet,
    repairs: Vec<Repair>,
}

impl Scoreboard {
    /// Records that `span` has arrived; returns true if a part of it is new.
    pub(super) fn arrived(&mut self, span: Span) -> bool {
        if self.arrived.insert_up_to(RANGES_MAX, span.range()) == 0 {
            return false;
        }
        let arrived = &self.arrived;
        self.repairs
            .retain(|repair| !arrived.covers(&repair.span.range()));
        self.marked.remove(&span.range());
        self.marked.keep_lowest(RANGES_MAX);
        true
    }

    /// Records that `span` was lost on the air, unless it has arrived; returns true if a part of it is new.
    pub(super) fn marked(&mut self, span: Span) -> bool {
        let range = span.range();
        !self.arrived.covers(&range) && self.marked.insert_up_to(RANGES_MAX, range) > 0
    }

    /// Records that `span` was retransmitted.
    pub(super) fn repaired(&mut self, span: Span, at: Instant) {
        self.repairs.retain(|repair| repair.span != span);
        if self.repairs.len() < REPAIRS_MAX {
            self.repairs.push(Repair { span, at });
        }
    }

    /// Removes everything before `position`, which is acknowledged.
    pub(super) fn acknowledged(&mut self, position: u64) {
        self.arrived.remove(&(0..position));
        self.marked.remove(&(0..position));
        if !self.repairs.is_empty() {
            self.repairs.retain(|repair| repair.span.end > position);
        }
    }

    /// Removes the retransmissions when a new recovery begins.
    pub(super) fn forget_repairs(&mut self) {
        self.repairs.clear();
    }

    /// Removes everything after a timeout (RFC 2018 §8).
    pub(super) fn clear(&mut self) {
        self.arrived.clear();
        self.marked.clear();
        self.repairs.clear();
    }

    /// Returns true if nothing is recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.arrived.is_empty() && self.marked.is_empty()
    }

    /// Returns the end of the data known to have arrived.
    pub(super) fn arrived_end(&self) -> Option<u64> {
        self.arrived.end()
    }

    /// Returns the first position at or after `position` that is not known to have arrived.
    pub(super) fn skip_arrived(&self, position: u64) -> u64 {
        end_of(&self.arrived, position).unwrap_or(position)
    }

    /// Returns the start of the next span that arrived, at or after `position`.
    pub(super) fn next_arrived(&self, position: u64) -> Option<u64> {
        self.arrived.first_from(position)
    }

    fn repair_around(&self, position: u64, since: Instant) -> Option<Span> {
        let recent = self.repairs.iter().filter(|repair| repair.at >= since);
        let mut spans = recent.map(|repair| repair.span);
        spans.find(|span| span.contains(position))
    }

    /// Returns the first piece of at most `size` bytes from `position` on that is missing and was not retransmitted
    /// since `since`.
    pub(super) fn hole(
        &self,
        missing: Missing,
        position: u64,
        size: u64,
        since: Instant,
    ) -> Option<Span> {
        if self.repairs.len() == REPAIRS_MAX {
            return None;
        }
        let set = match missing {
            Missing::Gaps | Missing::Unmarked => &self.arrived,
            Missing::Marked => &self.marked,
        };
        let edge = set.end()?;
        let mut at = position;
        while at < edge {
            let behind = match missing {
                Missing::Marked => self.marked.first_from(at).filter(|start| *start > at),
                Missing::Unmarked => end_of(&self.marked, at),
                Missing::Gaps => None,
            };
            let behind = behind.or_else(|| end_of(&self.arrived, at));
            let behind = behind.or_else(|| self.repair_around(at, since).map(|span| span.end));
            match behind {
                Some(behind) => at = behind,
                None => return Some(Span::new(at, self.hole_end(missing, at, size, since))),
            }
        }
        None
    }

    /// Returns the end of the hole at `at`.
    fn hole_end(&self, missing: Missing, at: u64, size: u64, since: Instant) -> u64 {
        let marked = match missing {
            Missing::Marked => end_of(&self.marked, at),
            Missing::Unmarked => self.marked.first_from(at),
            Missing::Gaps => None,
        };
        let recent = self.repairs.iter().filter(|repair| repair.at >= since);
        let starts = recent.map(|repair| repair.span.start);
        let repaired = starts.filter(|start| *start > at).min();
        let ends = [self.arrived.first_from(at), marked, repaired];
        let nearest = ends.into_iter().flatten().min();
        nearest.map_or(at + size, |end| end.min(at + size))
    }

    /// Returns the number of bytes in flight between the positions `first` and `end`: those sent after the last that
    /// arrived or is known as lost, and those retransmitted since `since`.
    pub(super) fn on_its_way(&self, first: u64, end: u64, since: Instant) -> u64 {
        let edge = self.arrived.end().max(self.marked.end());
        let edge = edge.unwrap_or(first).max(first);
        let recent = self.repairs.iter().filter(|repair| repair.at >= since);
        let again = recent.map(|repair| Span::new(repair.span.start, repair.span.end.min(edge)));
        end.saturating_sub(edge) + again.map(Span::length).sum::<u64>()
    }
}

/// Returns the end of the range that holds `position`.
fn end_of(set: &RangeSet, position: u64) -> Option<u64> {
    set.range_at(position).map(|range| range.end)
}
