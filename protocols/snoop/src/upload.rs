//! The upload direction: data from the mobile host, acknowledgements from the fixed host.
//!
//! The hop is the first link of this direction, so a gap in the data from the mobile host was lost on the air, at once
//! or after the reordering window. The agent requests it (WINET 1995) and can mark the fixed host's acknowledgements
//! that request it (Balakrishnan 1997).

use units::{Duration, Instant, SeqNumber};
use wire::tcp::{AirLoss, SackRanges, SeqRange};

use crate::config::ExplicitLoss;
use crate::effects::{Context, Effects};
use crate::order::{Arrival, Order};
use crate::round_trip::RoundTrip;
use crate::segment::AIR_LOSS_RANGES;
use crate::window::Window;
use crate::{Header, Segment};

/// Largest number of gaps of one connection that are kept; others are left to TCP.
const HOLES_MAX: usize = 32;
/// Largest number of requests for a gap; after that it is left to TCP.
const ASKED_MAX: u8 = 8;

/// State of one connection's data from the mobile host.
#[derive(Debug)]
pub(crate) struct Upload {
    /// End of the data from the mobile host.
    highest: Option<SeqNumber>,
    /// Last acknowledgement and window of the fixed host.
    window: Window,
    /// Gaps by sequence number, without overlaps.
    holes: Vec<Hole>,
    round_trip: RoundTrip,
    order: Order,
    /// Time at which the fixed host's SYN was forwarded that the mobile host has not answered.
    asked_at: Option<Instant>,
}

/// A gap in the data.
#[derive(Debug, Clone, Copy)]
struct Hole {
    range: SeqRange,
    /// Number of segments from beyond it that were forwarded before it was filled: as many duplicate acknowledgements
    /// of the fixed host are due to the air.
    beyond: u32,
    /// End of the data at the time when it was filled; none while it is open.
    filled: Option<SeqNumber>,
    asked: u8,
    /// Times at which it was noticed, and last requested.
    since: Instant,
    asked_at: Instant,
    due: Instant,
}

impl Upload {
    pub(crate) fn new() -> Self {
        Self {
            highest: None,
            window: Window::NEW,
            holes: Vec::new(),
            round_trip: RoundTrip::new(),
            order: Order::default(),
            asked_at: None,
        }
    }

    /// Returns true if an acknowledgement is higher than the last one.
    pub(crate) fn is_news(&self, number: SeqNumber) -> bool {
        self.window.acknowledged().is_none_or(|last| last < number)
    }

    /// Returns the last acknowledgement of the fixed host, if there was one.
    pub(crate) fn last(&self) -> Option<&Header> {
        self.window.last()
    }

    /// Notes the mobile host's SYN.
    pub(crate) fn synchronize(&mut self, header: &Header) {
        self.highest = Some(header.range().end);
    }

    /// Notes the fixed host's SYN.
    pub(crate) fn answer_synchronized(&mut self, now: Instant, header: &Header) {
        self.window.synchronize(header);
        self.asked_at = Some(now);
    }

    /// Notes an acknowledgement of the mobile host: the first one answers the SYN.
    pub(crate) fn answered(&mut self, now: Instant) {
        if let Some(asked_at) = self.asked_at.take() {
            self.order.answered(now.since(asked_at));
        }
    }

    /// Handles a segment with data or a FIN from the mobile host; it is forwarded in any case.
    pub(crate) fn data<P: Segment>(
        &mut self,
        context: &Context<'_>,
        header: &Header,
        effects: &mut Effects<P>,
    ) {
        let range = header.range();
        let highest = self.highest.unwrap_or(range.start);
        if !self.window.takes(range) {
            effects.counters.ignored.implausible += 1;
            return;
        }
        if highest < range.start && self.make_room() {
            effects.counters.upload.gaps += 1;
            let gap = SeqRange {
                start: highest,
                end: range.start,
            };
            let timing = &context.config.timing;
            let round_trip = self.round_trip.smoothed(timing);
            let window = self.order.window(context.config, round_trip);
            self.holes.push(Hole::open(gap, context.now, window));
        }
        if range.start < highest {
            self.fill(context, range, highest);
        }
        self.highest = Some(if highest < range.end {
            range.end
        } else {
            highest
        });
        let below = |hole: &&mut Hole| hole.filled.is_none() && hole.range.end <= range.start;
        for hole in self.holes.iter_mut().filter(below) {
            hole.beyond = hole.beyond.saturating_add(1);
        }
        self.ask(context, effects);
    }

    /// Handles an acknowledgement of the fixed host. Returns the losses on the air that it may report.
    pub(crate) fn acknowledged(
        &mut self,
        context: &Context<'_>,
        header: &Header,
    ) -> Option<AirLoss> {
        let number = header.acknowledgment;
        if !self.window.is_near(number) {
            return None;
        }
        let last = self.window.last().copied();
        let ahead = last.map_or(1, |last| number.distance_from(last.acknowledgment));
        if ahead < 0 {
            return None;
        }
        self.window.note(header);
        self.holes.retain(|hole| number < hole.range.end);
        let duplicate = ahead == 0
            && header.is_pure_acknowledgment()
            && last.is_some_and(|last| last.window == header.window || header.reports_arrival());
        let mode = context.config.explicit_loss;
        // A mark beside SMART's cause would read as a negative acknowledgement.
        let unmarkable = mode == ExplicitLoss::Off || header.options.cause.is_some();
        (!unmarkable)
            .then(|| self.mark(mode, header, duplicate))
            .flatten()
    }

    fn mark(&mut self, mode: ExplicitLoss, header: &Header, duplicate: bool) -> Option<AirLoss> {
        let number = header.acknowledgment;
        let newest = header.options.sack.iter().next().map(|block| block.end);
        let asked = self
            .holes
            .iter_mut()
            .find(|hole| hole.range.start <= number);
        let explained = asked.is_some_and(|hole| hole.explains(duplicate, newest));
        match mode {
            ExplicitLoss::Next => explained.then_some(AirLoss::Next),
            ExplicitLoss::Ranges => {
                let mut ranges = SackRanges::default();
                let lost = self.holes.iter().filter(|hole| {
                    hole.filled.is_none() || (explained && hole.range.start <= number)
                });
                for hole in lost.take(AIR_LOSS_RANGES) {
                    ranges.push(hole.range);
                }
                (ranges.iter().len() > 0).then_some(AirLoss::Ranges(ranges))
            }
            ExplicitLoss::Off => None,
        }
    }

    /// Returns the time at which [`Upload::ask`] is due.
    pub(crate) fn deadline(&self, context: &Context<'_>) -> Option<Instant> {
        let asks = context.config.negative_acknowledgments && self.window.last().is_some();
        let open = self
            .holes
            .iter()
            .filter(|hole| asks && hole.is_to_be_asked_for());
        open.map(|hole| hole.due).min()
    }

    /// Requests the gaps whose time has come.
    pub(crate) fn ask<P: Segment>(&mut self, context: &Context<'_>, effects: &mut Effects<P>) {
        let Some(last) = self.window.last() else {
            return;
        };
        if !context.config.negative_acknowledgments {
            return;
        }
        let timing = &context.config.timing;
        let due = timing.after(context.now, self.round_trip.timeout(timing));
        let mut ranges = SackRanges::default();
        let to_ask = |hole: &&mut Hole| hole.is_to_be_asked_for() && hole.due <= context.now;
        for hole in self.holes.iter_mut().filter(to_ask).take(AIR_LOSS_RANGES) {
            if hole.asked == 0 {
                self.round_trip.sent(context.now, hole.range.end);
            } else {
                self.round_trip.spoil();
            }
            ranges.push(hole.range);
            hole.asked += 1;
            hole.asked_at = context.now;
            hole.due = due;
        }
        if ranges.iter().len() > 0 {
            effects.counters.upload.asked += 1;
            let cause = self.highest.unwrap_or_default();
            let packet = P::acknowledgment(&last.negative(cause, ranges));
            effects.send_to_mobile(packet, true);
        }
    }

    /// Notes that missing bytes have arrived.
    fn fill(&mut self, context: &Context<'_>, range: SeqRange, highest: SeqNumber) {
        let mut rest = Vec::new();
        for hole in &mut self.holes {
            let start = later(hole.range.start, range.start);
            let end = earlier(hole.range.end, range.end);
            if hole.filled.is_some() || end <= start {
                continue;
            }
            let whole = hole.range;
            if whole.start < start {
                rest.push(hole.part(whole.start, start));
            }
            if end < whole.end {
                rest.push(hole.part(end, whole.end));
            }
            hole.range = SeqRange { start, end };
            hole.filled = Some(highest);
            let is_needless = self.order.arrived(context.now, hole.arrival(context.now));
            if is_needless && context.config.expects_reordering {
                self.round_trip.spoil();
            }
            self.round_trip
                .arrived(context.now, end, &context.config.timing);
        }
        let room = HOLES_MAX.saturating_sub(self.holes.len());
        self.holes.extend(rest.into_iter().take(room));
        let base = self.holes.first().map_or(highest, |hole| hole.range.start);
        self.holes
            .sort_by_key(|hole| hole.range.start.distance_from(base));
    }

    /// Returns true if there is room for one more hole. A filled one is dropped for it, since it serves only for marks.
    fn make_room(&mut self) -> bool {
        if self.holes.len() >= HOLES_MAX
            && let Some(place) = self.holes.iter().position(|hole| hole.filled.is_some())
        {
            self.holes.remove(place);
        }
        self.holes.len() < HOLES_MAX
    }
}

impl Hole {
    fn open(range: SeqRange, now: Instant, window: Duration) -> Self {
        Self {
            range,
            beyond: 0,
            filled: None,
            asked: 0,
            since: now,
            asked_at: now,
            due: now + window,
        }
    }

    /// Returns the arrival of what it lacked.
    fn arrival(&self, now: Instant) -> Arrival {
        Arrival {
            overtaken: Some(now.since(self.since)),
            sent: now.since(self.asked_at),
            repeated: self.asked > 0,
        }
    }

    fn part(&self, start: SeqNumber, end: SeqNumber) -> Self {
        Self {
            range: SeqRange { start, end },
            ..*self
        }
    }

    fn is_to_be_asked_for(&self) -> bool {
        self.filled.is_none() && self.asked < ASKED_MAX
    }

    /// Returns true if an acknowledgement that requests this hole is due to the air. Once the hole is filled, this
    /// holds only for acknowledgements that earlier segments caused: others mean that it was lost again, on the wired
    /// side. `newest` is the end of the newest range that the fixed host received, which distinguishes the two;
    /// without it duplicates are counted.
    fn explains(&mut self, duplicate: bool, newest: Option<SeqNumber>) -> bool {
        let Some(filled) = self.filled else {
            return true;
        };
        let before = newest.is_none_or(|newest| newest <= filled);
        let tells = duplicate || newest.is_some();
        let explained = tells && before && self.beyond > 0;
        self.beyond -= u32::from(explained && duplicate);
        explained
    }
}

fn later(one: SeqNumber, other: SeqNumber) -> SeqNumber {
    if one < other { other } else { one }
}

fn earlier(one: SeqNumber, other: SeqNumber) -> SeqNumber {
    if one < other { one } else { other }
}
