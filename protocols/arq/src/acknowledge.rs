//! The record of received transmissions, and the times of their acknowledgements.

use units::{Duration, Instant, RangeSet};
use wire::hop::{AckFields, FrameWriter};

use crate::received_marks::ReceivedMarks;

/// Most time that a frame waits for its acknowledgement.
pub(crate) const DELAY_MAX: Duration = Duration::from_millis(25);
/// Time that an acknowledgement which is not urgent waits for others before it shares a frame with data: on a slow
/// hop one in every frame would cost a hundredth of it.
const RIDE_AFTER: Duration = Duration::from_millis(12);
/// Most ranges remembered on a hop that keeps order, where what lies below them is lost, and on another: as many as an
/// acknowledgement can carry.
const RANGES_MAX: usize = 64;
const RANGES_DISORDERED: usize = 256;
/// Approximate bytes on the wire of an acknowledgement on its own, and the part of them for the frame around it.
const COST: u64 = 100;
const AROUND: u64 = 80;
/// Received bytes that allow one byte of acknowledgements.
const SHARE: u64 = 50;
/// Limit on unused bytes of acknowledgements that are carried over.
const SAVINGS_MAX: u64 = 6 * COST;
/// Approximate bytes of one range in an acknowledgement.
const RANGE: u64 = 2;
/// Time after a late arrival in which others are expected.
const DISORDERED: Duration = Duration::from_secs(10);

/// The receiver's state of acknowledgements: which transmissions arrived, and how much acknowledgements may cost.
#[derive(Debug, Default)]
pub(crate) struct Acknowledger {
    received: RangeSet,
    largest: Option<(u64, Instant)>,
    /// Arrival time of the oldest frame that requests an acknowledgement and has had none.
    waiting_since: Option<Instant>,
    /// True if frames went missing since the last acknowledgement.
    gap: bool,
    last_written: Instant,
    /// Time until which the hop is expected to reorder: then a gap is no news.
    disordered_until: Option<Instant>,
    /// Received bytes that count toward the share of acknowledgements.
    received_bytes: u64,
    /// Congestion marks on received frames.
    pub(crate) marks: ReceivedMarks,
}

/// The position of an arrival among those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Number of transmissions between the highest before and this one: lost, on a hop that keeps order.
    pub(crate) skipped: u64,
    /// True if it arrived after later ones: late, and not lost.
    pub(crate) is_late: bool,
}

impl Acknowledger {
    /// Returns the highest number received.
    pub(crate) fn largest(&self) -> u64 {
        self.largest.map_or(0, |(number, _)| number)
    }

    /// Returns the number of the next transmission, if none is lost.
    pub(crate) fn expected(&self) -> u64 {
        self.largest.map_or(0, |(largest, _)| largest + 1)
    }

    /// Records the arrival of a transmission.
    pub(crate) fn arrived(&mut self, at: Instant, number: u64, wire_bytes: usize) -> Arrival {
        let is_new = self.received.insert(number..number + 1) > 0;
        let expected = self.expected();
        let skipped = number.saturating_sub(expected);
        if number >= expected {
            self.largest = Some((number, at));
        }
        let is_late = is_new && number < expected;
        if is_late {
            self.disordered_until = Some(at + DISORDERED);
        }
        self.disordered_until = self.disordered_until.filter(|until| at < *until);
        let most = match self.disordered_until {
            Some(_) => RANGES_DISORDERED,
            None => RANGES_MAX,
        };
        self.received.keep_highest(most);
        self.gap |= skipped > 0 && self.disordered_until.is_none();
        self.received_bytes = (self.received_bytes + wire_bytes as u64).min(SAVINGS_MAX * SHARE);
        Arrival { skipped, is_late }
    }

    /// Records that the last arrival requests an acknowledgement.
    pub(crate) fn asked(&mut self, at: Instant) {
        self.waiting_since.get_or_insert(at);
    }

    /// Returns the time when an acknowledgement is due even if nothing else is sent.
    pub(crate) fn due(&self, spacing: Duration) -> Option<Instant> {
        let waiting_since = self.waiting_since?;
        let spaced = self.last_written + spacing;
        let soon = if self.is_affordable() {
            spaced.max(waiting_since)
        } else {
            waiting_since + DELAY_MAX
        };
        Some(soon.min(waiting_since + DELAY_MAX))
    }

    /// Returns true if an acknowledgement is worth its bytes: it reports a loss, or enough has arrived to pay for it.
    /// On a hop that reorders it names all ranges, as any of them may be new.
    fn is_affordable(&self) -> bool {
        let ranges = match self.disordered_until {
            Some(_) => self.received.len() as u64 * RANGE,
            None => 0,
        };
        self.gap || self.received_bytes >= (COST + ranges).min(SAVINGS_MAX) * SHARE
    }

    /// Adds an acknowledgement to a frame if a received frame waits for it; `alone` if the frame carries nothing
    /// else. Returns true if it was added.
    pub(crate) fn write(&mut self, now: Instant, frame: &mut FrameWriter, alone: bool) -> bool {
        let (Some((largest, at)), Some(waiting_since)) = (self.largest, self.waiting_since) else {
            return false;
        };
        if !alone && !self.is_affordable() && now.since(waiting_since) < RIDE_AFTER {
            return false;
        }
        let fields = AckFields {
            largest,
            arrival: at.since_origin().as_micros() as u32,
            delay: now.since(at).as_micros(),
            counts: self.marks.to_tell(),
        };
        let around = if alone { AROUND } else { 0 };
        let savings = (self.received_bytes / SHARE).saturating_sub(around) as usize;
        let ranges = self
            .received
            .iter()
            .rev()
            .map(|range| (range.start, range.end - 1));
        let room = frame.room();
        if !frame.ack(fields, ranges, savings.max(32)) {
            return false;
        }
        let cost = (room - frame.room()) as u64 + around;
        self.received_bytes = self.received_bytes.saturating_sub(cost * SHARE);
        self.marks.told();
        self.waiting_since = None;
        self.gap = false;
        self.last_written = now;
        true
    }
}
