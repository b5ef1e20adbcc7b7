//! The segments that were forwarded and are not acknowledged, in the order of their sequence numbers.

use std::collections::VecDeque;

use units::{Instant, SeqNumber};
use wire::tcp::SeqRange;

use crate::order::Arrival;

/// Smallest capacity of a cache, in segments.
const ROOM: usize = 16;

/// A segment that can be sent again.
#[derive(Debug)]
pub(crate) struct Cached<P> {
    pub(crate) range: SeqRange,
    pub(crate) packet: P,
    cost: u64,
    /// Time at which it was last sent.
    pub(crate) sent_at: Instant,
    /// Set if another copy followed the first, from the agent or from the sender.
    pub(crate) repeated: bool,
    /// Set if it filled a gap when it arrived: it had been lost, or overtaken, before it reached the agent.
    pub(crate) late: bool,
    /// Set if the receiver has it (selective acknowledgement).
    pub(crate) arrived: bool,
    /// Time at which it was first known that a later segment has arrived and this one has not.
    pub(crate) overtaken: Option<Instant>,
}

impl<P> Cached<P> {
    pub(crate) fn new(now: Instant, range: SeqRange, packet: P, cost: u64) -> Self {
        Self {
            range,
            packet,
            cost,
            sent_at: now,
            repeated: false,
            late: false,
            arrived: false,
            overtaken: None,
        }
    }

    /// Returns its arrival, which is known from now on.
    pub(crate) fn arrival(&self, now: Instant) -> Arrival {
        Arrival {
            overtaken: self.overtaken.map(|since| now.since(since)),
            sent: now.since(self.sent_at),
            repeated: self.repeated,
        }
    }
}

impl<P: Clone> Cached<P> {
    /// Notes that it is sent again now, and returns the copy to send.
    pub(crate) fn repeat(&mut self, now: Instant) -> P {
        self.sent_at = now;
        self.repeated = true;
        self.packet.clone()
    }
}

/// Cache of one direction of a connection. Entries never overlap.
#[derive(Debug)]
pub(crate) struct Cache<P> {
    entries: VecDeque<Cached<P>>,
    bytes: u64,
}

impl<P> Cache<P> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Returns the cost of the cached packets, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the segment that holds the byte at `number`, if there is one.
    pub(crate) fn at(&mut self, number: SeqNumber) -> Option<&mut Cached<P>> {
        let place = self.place_of(number);
        let entry = self.entries.get_mut(place)?;
        (entry.range.start <= number).then_some(entry)
    }

    /// Returns the segment of exactly this range, if there is one.
    pub(crate) fn exactly(&mut self, range: SeqRange) -> Option<&mut Cached<P>> {
        self.at(range.start).filter(|entry| entry.range == range)
    }

    /// Inserts an entry; entries that it overlaps are dropped.
    pub(crate) fn insert(&mut self, entry: Cached<P>) {
        let from = self.place_of(entry.range.start);
        let to = self
            .entries
            .partition_point(|old| old.range.start < entry.range.end);
        if from < to {
            let overlapped = self.entries.drain(from..to);
            self.bytes -= overlapped.map(|old| old.cost).sum::<u64>();
        }
        self.bytes += entry.cost;
        self.entries.insert(from, entry);
    }

    /// Drops segments that lie wholly before `number`, each after a look at it, and returns their number.
    pub(crate) fn free(&mut self, number: SeqNumber, mut look: impl FnMut(&Cached<P>)) -> usize {
        let mut count = 0;
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.range.end <= number) {
            look(&entry);
            self.bytes -= entry.cost;
            count += 1;
        }
        if self.entries.capacity() > (4 * self.entries.len()).max(ROOM) {
            self.entries.shrink_to(2 * self.entries.len());
        }
        count
    }

    /// Returns the number of segments behind the one that holds `number`.
    pub(crate) fn count_behind(&self, number: SeqNumber) -> usize {
        let through = self
            .entries
            .partition_point(|entry| entry.range.start <= number);
        self.entries.len() - through
    }

    /// Returns true if every byte of `range` is in the cache, in segments that `pass`.
    pub(crate) fn covers(&self, range: SeqRange, pass: impl Fn(&Cached<P>) -> bool) -> bool {
        let mut reached = range.start;
        let from = self.place_of(range.start);
        for entry in self.entries.range(from..) {
            if reached >= range.end || entry.range.start > reached || !pass(entry) {
                break;
            }
            reached = entry.range.end;
        }
        reached >= range.end
    }

    /// Returns the first number of the segment with the last data.
    pub(crate) fn last_start(&self) -> Option<SeqNumber> {
        self.entries.back().map(|last| last.range.start)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Cached<P>> {
        self.entries.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Cached<P>> {
        self.entries.iter_mut()
    }

    /// Returns the entries that overlap `range`.
    pub(crate) fn overlapping(&mut self, range: SeqRange) -> impl Iterator<Item = &mut Cached<P>> {
        let from = self.place_of(range.start);
        let to = self
            .entries
            .partition_point(|entry| entry.range.start < range.end);
        self.entries.range_mut(from..to.max(from))
    }

    /// Returns the index of the first entry that ends behind `number`.
    fn place_of(&self, number: SeqNumber) -> usize {
        self.entries
            .partition_point(|entry| entry.range.end <= number)
    }
}
