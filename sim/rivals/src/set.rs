//! The set of all connections on a channel.

use std::collections::VecDeque;
use std::ops::Range;

use channel::Direction;
use machine::Deadlines;
use tcp::{Counters, Endpoint};
use units::{Bytes, Duration, Instant};
use wire::TcpSegment;

use crate::rival::{Kind, Rival, direction_of};

/// Bytes that Ethernet adds to a packet.
const ETHERNET: usize = 14;

/// A segment of a rival on its way across the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    rival: usize,
    from: usize,
    segment: TcpSegment,
}

impl Crossing {
    /// Returns the direction of the segment.
    pub fn direction(&self) -> Direction {
        direction_of(self.from)
    }

    /// Returns the size of its Ethernet frame.
    pub fn size(&self) -> Bytes {
        Bytes::from(ETHERNET + self.segment.packet_length())
    }

    /// Returns the number of its connection.
    pub fn rival(&self) -> usize {
        self.rival
    }
}

/// TCP connections between the mobile host's side of a channel and the fixed one.
#[derive(Debug, Clone, Default)]
pub struct Rivals {
    list: Vec<Rival>,
    /// Next deadline of each connection.
    due: Deadlines<usize>,
    outgoing: VecDeque<Crossing>,
}

impl Rivals {
    /// Returns an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connection that sends as much as it can in `direction` during `span`; returns its number.
    pub fn add(&mut self, kind: Kind, direction: Direction, span: Range<Instant>) -> usize {
        let number = self.list.len();
        self.push(Rival::bulk(number, kind, direction, span))
    }

    /// Adds a connection on which the mobile host sends a request of 200 bytes once each `every` during `span`, and
    /// gets a reply of as many bytes; returns its number.
    pub fn add_requests(&mut self, every: Duration, span: Range<Instant>) -> usize {
        let number = self.list.len();
        self.push(Rival::requests(number, every, span))
    }

    fn push(&mut self, rival: Rival) -> usize {
        let number = self.list.len();
        self.list.push(rival);
        self.due.set(number, self.list[number].poll_timeout());
        number
    }

    /// Returns the number of connections.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if there are no connections.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of bytes of connection `number` that have arrived in order.
    pub fn delivered(&self, number: usize) -> u64 {
        self.list[number].delivered()
    }

    /// Returns the number of bytes that arrived within `span`, whose ends are rounded to a tenth of a second.
    pub fn delivered_within(&self, number: usize, span: Range<Instant>) -> u64 {
        let rival = &self.list[number];
        let before = rival.delivered_until(span.start);
        rival.delivered_until(span.end).saturating_sub(before)
    }

    /// Returns the time of each request, and the delay of its reply.
    pub fn replies(&self, number: usize) -> &[(Instant, Duration)] {
        self.list[number].replies()
    }

    /// Returns the counters of its sender.
    pub fn counters(&self, number: usize) -> Counters {
        self.list[number].counters()
    }

    /// Returns the end that sends; for requests, the mobile one.
    pub fn sender(&self, number: usize) -> &Endpoint {
        self.list[number].sender()
    }

    /// Returns the time of the next call of [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.first()
    }

    /// Handles deadlines that have come.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(number) = self.due.pop_due(now) {
            self.list[number].handle_timeout(now);
            self.drain(now, number);
        }
    }

    /// Handles a segment that has crossed the channel.
    pub fn take(&mut self, now: Instant, crossing: Crossing) {
        let Crossing {
            rival,
            from,
            segment,
        } = crossing;
        self.list[rival].take(now, 1 - from, segment);
        self.drain(now, rival);
    }

    /// Returns the next segment to be put on the channel.
    pub fn poll_crossing(&mut self) -> Option<Crossing> {
        self.outgoing.pop_front()
    }

    fn drain(&mut self, now: Instant, number: usize) {
        while let Some((from, segment)) = self.list[number].poll_segment(now) {
            self.outgoing.push_back(Crossing {
                rival: number,
                from,
                segment,
            });
        }
        self.due.set(number, self.list[number].poll_timeout());
    }
}
