//! All connections beside each other.

use std::collections::VecDeque;
use std::ops::Range;

use channel::Direction;
use machine::Deadlines;
use tcp::{Counters, Endpoint};
use units::{Bytes, Duration, Instant};
use wire::TcpSegment;

use crate::rival::{Kind, Rival, direction_of};

/// What Ethernet adds to a packet, in bytes.
const ETHERNET: usize = 14;

/// A segment of a rival on its way across the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    rival: usize,
    from: usize,
    segment: TcpSegment,
}

impl Crossing {
    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        direction_of(self.from)
    }

    /// What its Ethernet frame takes on the air.
    pub fn size(&self) -> Bytes {
        Bytes::from(ETHERNET + self.segment.packet_length())
    }

    /// Whose it is.
    pub fn rival(&self) -> usize {
        self.rival
    }
}

/// TCP connections between the mobile's side of a channel and the fixed one.
#[derive(Debug, Clone, Default)]
pub struct Rivals {
    list: Vec<Rival>,
    /// When each is to be looked at.
    due: Deadlines<usize>,
    outgoing: VecDeque<Crossing>,
}

impl Rivals {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A connection that sends all it can in `direction`, while `span` lasts; returns its number.
    pub fn add(&mut self, kind: Kind, direction: Direction, span: Range<Instant>) -> usize {
        let number = self.list.len();
        self.push(Rival::bulk(number, (kind, direction), span))
    }

    /// A connection on which the mobile asks for 200 bytes with as many, once each `every`, while `span` lasts; returns
    /// its number.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Bytes of rival `number` that have arrived in order.
    pub fn delivered(&self, number: usize) -> u64 {
        self.list[number].delivered()
    }

    /// Bytes of it that arrived within `span`, whose ends count to a tenth of a second.
    pub fn delivered_within(&self, number: usize, span: Range<Instant>) -> u64 {
        let rival = &self.list[number];
        let before = rival.delivered_until(span.start);
        rival.delivered_until(span.end).saturating_sub(before)
    }

    /// When each request of it was made, and how long the answer took.
    pub fn replies(&self, number: usize) -> &[(Instant, Duration)] {
        self.list[number].replies()
    }

    /// What its sender has done.
    pub fn counters(&self, number: usize) -> Counters {
        self.list[number].counters()
    }

    /// The end that sends; of requests, the mobile one.
    pub fn sender(&self, number: usize) -> &Endpoint {
        self.list[number].sender()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.first()
    }

    /// Acts on what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(number) = self.due.pop_due(now) {
            self.list[number].handle_timeout(now);
            self.drain(now, number);
        }
    }

    /// A segment has crossed.
    pub fn take(&mut self, now: Instant, crossing: Crossing) {
        let Crossing {
            rival,
            from,
            segment,
        } = crossing;
        self.list[rival].take(now, 1 - from, segment);
        self.drain(now, rival);
    }

    /// The next segment to be put on the channel.
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
