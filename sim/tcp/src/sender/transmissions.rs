//! All segments that were sent and are not acknowledged.

use std::collections::{BTreeSet, VecDeque};

use units::{Duration, Instant};

use crate::control::Delivery;
use crate::span::Span;

/// State of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    OnItsWay,
    /// A selective acknowledgement names it.
    Arrived,
    /// It is to be retransmitted.
    Lost,
}

/// State of delivery when a segment was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot {
    /// Bytes delivered, and time of the last delivery.
    total: u64,
    total_at: Instant,
    /// Time of the first transmission of those that are measured together.
    first_sent_at: Instant,
    app_limited: bool,
}

/// A segment that is not acknowledged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    pub(super) span: Span,
    /// Time of its last transmission.
    pub(super) sent_at: Instant,
    pub(super) standing: Standing,
    /// True if it was sent more than once.
    pub(super) again: bool,
    pub(super) snapshot: Snapshot,
}

/// All unacknowledged segments, in the order of the stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Transmissions {
    list: VecDeque<Transmission>,
    /// Time of transmission and start of each segment, in the order of transmission; some entries are out of date.
    order: VecDeque<(Instant, u64)>,
    /// Starts of the segments to be retransmitted.
    lost: BTreeSet<u64>,
    in_flight: u64,
    /// Number of segments that arrived beyond a gap, and end of the last one in the stream.
    arrived: usize,
    furthest: u64,
}

impl Transmissions {
    /// Returns the number of bytes in flight.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the number of segments that arrived beyond a gap.
    pub(super) fn arrived(&self) -> usize {
        self.arrived
    }

    /// Returns the number of unacknowledged segments.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    pub(super) fn furthest(&self) -> u64 {
        self.furthest
    }

    /// Returns the first segment to be retransmitted.
    pub(super) fn first_lost(&self) -> Option<Span> {
        let start = *self.lost.first()?;
        Some(self.list[self.place(start)?].span)
    }

    /// Returns the last segment of the stream.
    pub(super) fn last(&self) -> Option<Span> {
        self.list.back().map(|last| last.span)
    }

    fn place(&self, start: u64) -> Option<usize> {
        let place = self.list.partition_point(|known| known.span.start < start);
        let known = self.list.get(place)?;
        (known.span.start == start).then_some(place)
    }

    /// Records the transmission of a segment. Returns true if it is a retransmission.
    pub(super) fn send(&mut self, span: Span, now: Instant, snapshot: Snapshot) -> bool {
        self.order.push_back((now, span.start));
        if let Some(place) = self.place(span.start) {
            let known = &mut self.list[place];
            if known.standing == Standing::Lost {
                self.lost.remove(&span.start);
                self.in_flight += known.span.length();
            }
            known.standing = Standing::OnItsWay;
            known.sent_at = now;
            known.again = true;
            known.snapshot = snapshot;
            return true;
        }
        self.in_flight += span.length();
        self.list.push_back(Transmission {
            span,
            sent_at: now,
            standing: Standing::OnItsWay,
            again: false,
            snapshot,
        });
        false
    }

    /// Removes everything before `position`, which is acknowledged; calls `tell` with each segment that was not known
    /// to have arrived.
    pub(super) fn acknowledge(&mut self, position: u64, mut tell: impl FnMut(&Transmission)) {
        while let Some(first) = self.list.front_mut() {
            if first.span.start >= position {
                break;
            }
            let mut part = *first;
            let whole = first.span.end <= position;
            part.span.end = part.span.end.min(position);
            let length = part.span.length();
            match part.standing {
                Standing::Arrived => self.arrived -= usize::from(whole),
                Standing::OnItsWay => self.in_flight -= length,
                Standing::Lost => {
                    self.lost.remove(&part.span.start);
                }
            }
            if part.standing != Standing::Arrived {
                tell(&part);
            }
            if whole {
                self.list.pop_front();
                continue;
            }
            first.span.start = position;
            let (start, at) = (position, first.sent_at);
            match first.standing {
                Standing::Lost => {
                    self.lost.insert(start);
                }
                // Its old entry no longer matches its start.
                Standing::OnItsWay => self.order.push_front((at, start)),
                Standing::Arrived => {}
            }
        }
        if self.list.is_empty() {
            self.order.clear();
        }
    }

    /// Marks the segments in `span` as arrived; calls `tell` with each that was not known to have arrived.
    pub(super) fn arrive(&mut self, span: Span, mut tell: impl FnMut(&Transmission)) {
        let first = self
            .list
            .partition_point(|known| known.span.start < span.start);
        for known in self.list.iter_mut().skip(first) {
            if known.span.end > span.end {
                break;
            }
            match known.standing {
                Standing::Arrived => continue,
                Standing::OnItsWay => self.in_flight -= known.span.length(),
                Standing::Lost => {
                    self.lost.remove(&known.span.start);
                }
            }
            tell(known);
            known.standing = Standing::Arrived;
            self.arrived += 1;
            self.furthest = self.furthest.max(known.span.end);
        }
    }

    /// Returns the segment in flight that was sent longest ago.
    pub(super) fn oldest(&mut self) -> Option<Transmission> {
        while let Some((at, start)) = self.order.front().copied() {
            let known = self.place(start).map(|place| self.list[place]);
            let valid =
                |known: &Transmission| known.sent_at == at && known.standing == Standing::OnItsWay;
            if let Some(known) = known.filter(valid) {
                return Some(known);
            }
            self.order.pop_front();
        }
        None
    }

    /// Declares the oldest segment lost; returns its size.
    pub(super) fn lose_oldest(&mut self) -> u64 {
        let Some(oldest) = self.oldest() else {
            return 0;
        };
        self.order.pop_front();
        self.lose(oldest.span.start)
    }

    fn lose(&mut self, start: u64) -> u64 {
        let Some(place) = self.place(start) else {
            return 0;
        };
        let known = &mut self.list[place];
        if known.standing != Standing::OnItsWay {
            return 0;
        }
        known.standing = Standing::Lost;
        let size = known.span.length();
        self.in_flight -= size;
        self.lost.insert(start);
        size
    }

    /// Declares every segment lost that has not arrived. If even the first has arrived, the peer has dropped data it
    /// had acknowledged, and all segments count as lost (RFC 2018 §8).
    pub(super) fn lose_all(&mut self) -> u64 {
        let forgotten = |known: &Transmission| known.standing == Standing::Arrived;
        let forgets = self.list.front().is_some_and(forgotten);
        let mut lost = 0;
        for known in &mut self.list {
            match known.standing {
                Standing::OnItsWay => lost += known.span.length(),
                Standing::Arrived if forgets => {}
                Standing::Arrived | Standing::Lost => continue,
            }
            known.standing = Standing::Lost;
            self.lost.insert(known.span.start);
        }
        if forgets {
            self.arrived = 0;
            self.furthest = 0;
        }
        self.in_flight = 0;
        self.order.clear();
        lost
    }

    /// Reverts a false alarm: segments declared lost are in flight again.
    pub(super) fn find_all(&mut self) {
        self.lost.clear();
        self.order.clear();
        for known in &mut self.list {
            if known.standing == Standing::Lost {
                known.standing = Standing::OnItsWay;
                self.in_flight += known.span.length();
            }
            if known.standing == Standing::OnItsWay {
                self.order.push_back((known.sent_at, known.span.start));
            }
        }
        self.order.make_contiguous().sort_unstable();
    }
}

/// Delivery rate (draft-cheng-iccrg-delivery-rate-estimation-00).
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    /// Bytes delivered so far.
    total: u64,
    total_at: Instant,
    first_sent_at: Instant,
    /// Number of delivered bytes up to which samples are limited by the application.
    limited_until: u64,
}

impl Rates {
    pub(super) fn new() -> Self {
        Self {
            total: 0,
            total_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            limited_until: 0,
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn app_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// Records a lack of data, with `in_flight` bytes in flight.
    pub(super) fn limit(&mut self, in_flight: u64) {
        self.limited_until = (self.total + in_flight).max(1);
    }

    /// Returns the snapshot for a segment that is sent with `in_flight` bytes in flight.
    pub(super) fn snapshot(&mut self, now: Instant, in_flight: u64) -> Snapshot {
        if in_flight == 0 {
            self.first_sent_at = now;
            self.total_at = now;
        }
        Snapshot {
            total: self.total,
            total_at: self.total_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited(),
        }
    }

    /// Returns the sample of newly delivered segments. A time below the smallest round trip gives no rate.
    pub(super) fn sample(
        &mut self,
        found: &Found,
        now: Instant,
        least: Duration,
    ) -> Option<Delivery> {
        self.total += found.arrived;
        if found.arrived > 0 {
            self.total_at = now;
        }
        if self.total > self.limited_until {
            self.limited_until = 0;
        }
        let newest = found.newest?;
        let snapshot = newest.snapshot;
        let sending = newest.sent_at.since(snapshot.first_sent_at);
        self.first_sent_at = newest.sent_at;
        let span = sending.max(now.since(snapshot.total_at));
        let plausible = span >= least && !span.is_zero();
        Some(Delivery {
            before: snapshot.total,
            since: plausible.then_some((self.total - snapshot.total, span)),
            app_limited: snapshot.app_limited,
        })
    }
}

/// Segments that an acknowledgement shows to have arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) arrived: u64,
    /// The last sent of them, by the bytes delivered at its transmission.
    newest: Option<Transmission>,
    /// Time of transmission and end of the segment that was sent last, among those with a valid round trip.
    pub(super) latest: Option<(Instant, u64)>,
    pub(super) round_trip: Option<Duration>,
    /// True if a segment arrived after others that were sent later.
    pub(super) reordered: bool,
}

impl Found {
    /// Adds a segment that has arrived; earlier arrivals end at `furthest`. If a retransmitted segment arrives sooner
    /// than the smallest round trip, its first transmission has arrived.
    pub(super) fn note(&mut self, known: &Transmission, now: Instant, other: (u64, Duration)) {
        let (furthest, least) = other;
        self.arrived += known.span.length();
        let rank = |known: &Transmission| (known.snapshot.total, known.sent_at);
        if self
            .newest
            .is_none_or(|newest| rank(known) >= rank(&newest))
        {
            self.newest = Some(*known);
        }
        let round_trip = now.since(known.sent_at);
        if !known.again || round_trip >= least {
            let latest = (known.sent_at, known.span.end);
            self.latest = self.latest.max(Some(latest));
        }
        if !known.again {
            let shortest = self
                .round_trip
                .map_or(round_trip, |known| known.min(round_trip));
            self.round_trip = Some(shortest);
            self.reordered |= known.span.end < furthest;
        }
    }
}
