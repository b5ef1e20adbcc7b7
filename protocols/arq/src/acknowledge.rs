//! What has been received, and when to say so.

use units::{Duration, Instant, RangeSet};
use wire::hop::{AckFields, FrameWriter};

use crate::received_marks::ReceivedMarks;

/// The longest that a frame waits for its acknowledgement.
pub(crate) const DELAY_MAX: Duration = Duration::from_millis(25);
/// How long an acknowledgement that nobody needs soon waits for company before it rides along: on a slow
/// hop one in every frame would cost a hundredth of it.
const RIDE_AFTER: Duration = Duration::from_millis(12);
/// Ranges remembered; more than an acknowledgement ever carries.
const RANGES_MAX: usize = 64;
/// What an acknowledgement on its own costs on the wire, about, and what of that is the frame around it.
const COST: u64 = 100;
const AROUND: u64 = 80;
/// Acknowledgements may take one byte in so many received.
const SHARE: u64 = 50;
/// Savings beyond this do not pile up, in bytes of acknowledgement.
const SAVINGS_MAX: u64 = 6 * COST;

/// Keeps the receiver's side of acknowledgements: which transmissions arrived, and what they may cost.
#[derive(Debug, Default)]
pub(crate) struct Acknowledger {
    received: RangeSet,
    largest: Option<(u64, Instant)>,
    /// When the oldest frame arrived that asks for an acknowledgement and has had none.
    waiting_since: Option<Instant>,
    /// Frames went missing since the last acknowledgement.
    gap: bool,
    last_written: Instant,
    /// Received bytes, of which acknowledgements may take a share.
    received_bytes: u64,
    /// How frames came marked.
    pub(crate) marks: ReceivedMarks,
}

/// What a transmission's arrival says of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Transmissions between the highest before and this one: lost, on a hop that keeps order.
    pub(crate) skipped: u64,
    /// It was itself between others before: late, and not lost.
    pub(crate) is_late: bool,
}

impl Acknowledger {
    /// The highest number received.
    pub(crate) fn largest(&self) -> u64 {
        self.largest.map_or(0, |(number, _)| number)
    }

    /// The number of the next transmission, if none is lost.
    pub(crate) fn expected(&self) -> u64 {
        self.largest.map_or(0, |(largest, _)| largest + 1)
    }

    /// Notes the arrival of a transmission.
    pub(crate) fn arrived(&mut self, at: Instant, number: u64, wire_bytes: usize) -> Arrival {
        let is_new = self.received.insert(number..number + 1) > 0;
        self.received.keep_highest(RANGES_MAX);
        let expected = self.expected();
        let skipped = number.saturating_sub(expected);
        if number >= expected {
            self.largest = Some((number, at));
        }
        self.gap |= skipped > 0;
        self.received_bytes = (self.received_bytes + wire_bytes as u64).min(SAVINGS_MAX * SHARE);
        Arrival {
            skipped,
            is_late: is_new && number < expected,
        }
    }

    /// The last arrival asks for an acknowledgement.
    pub(crate) fn asked(&mut self, at: Instant) {
        self.waiting_since.get_or_insert(at);
    }

    /// When an acknowledgement is due even if nothing else is sent.
    pub(crate) fn due(&self, spacing: Duration) -> Option<Instant> {
        let waiting_since = self.waiting_since?;
        let spaced = self.last_written + spacing;
        let soon = if self.gap || self.received_bytes >= COST * SHARE {
            spaced.max(waiting_since)
        } else {
            waiting_since + DELAY_MAX
        };
        Some(soon.min(waiting_since + DELAY_MAX))
    }

    /// Adds an acknowledgement to a frame if something waits for it; `alone` if the frame is sent for
    /// that alone.
    pub(crate) fn write(&mut self, now: Instant, frame: &mut FrameWriter, alone: bool) -> bool {
        let (Some((largest, at)), Some(waiting_since)) = (self.largest, self.waiting_since) else {
            return false;
        };
        let affordable = self.gap || self.received_bytes >= COST * SHARE;
        if !alone && !affordable && now.since(waiting_since) < RIDE_AFTER {
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
