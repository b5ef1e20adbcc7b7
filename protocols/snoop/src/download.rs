//! The download direction: data from the fixed host, acknowledgements from the mobile host.
//!
//! The rules are those of the snoop protocol (Balakrishnan et al., Mobicom 1995 and WINET 1995), with
//! the switches of the comparison (Balakrishnan 1997).

mod acknowledge;
mod learn;

pub(crate) use acknowledge::Passage;
use units::{Instant, SeqNumber};
use wire::tcp::SeqRange;

use crate::cache::{Cache, Cached};
use crate::effects::{Context, Effects};
use crate::order::Order;
use crate::round_trip::RoundTrip;
use crate::window::Window;
use crate::{Header, Segment};

/// Decision about a data segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataPassage {
    /// The segment is forwarded.
    Forward,
    /// The mobile host has it: its last acknowledgement is repeated to the sender instead.
    Answer,
}

/// State of one connection's data towards the mobile host.
#[derive(Debug)]
pub(crate) struct Download<P> {
    cache: Cache<P>,
    /// End of the data from the fixed host.
    highest: Option<SeqNumber>,
    /// Last acknowledgement and window of the mobile host.
    window: Window,
    recovery: Recovery,
    needless: RedundantCopies,
    /// Set if the mobile host's acknowledgements report which segments arrived.
    selective: bool,
    round_trip: RoundTrip,
    order: Order,
    /// Time at which an overtaken segment is lost unless it arrives before.
    overtaken_until: Option<Instant>,
    repair_due: Option<Instant>,
    persist_due: Option<Instant>,
}

/// Duplicate acknowledgements since the last new one, and those still expected.
#[derive(Debug, Clone, Copy, Default)]
struct Recovery {
    /// Number of duplicates: each stands for a segment beyond the missing one that has arrived.
    duplicates: usize,
    /// Number of segments behind a repaired one whose duplicate acknowledgements bring nothing new.
    expected: usize,
    /// End of the data sent when the first repair was made: the losses of this burst lie before it.
    until: Option<SeqNumber>,
}

/// Redundant copies by the sender of segments that had arrived or were repaired already. The mobile host answers each
/// with a duplicate acknowledgement that shows no loss.
#[derive(Debug, Clone, Copy, Default)]
struct RedundantCopies {
    copies: u32,
    /// Sequence number that ends the count: once it has arrived, so have the copies, as the hop keeps order; or they
    /// were lost.
    until: Option<SeqNumber>,
}

impl RedundantCopies {
    /// Notes a copy that passes, behind everything before `highest`.
    fn note(&mut self, highest: Option<SeqNumber>) {
        self.copies = self.copies.saturating_add(1);
        self.until = highest;
    }

    /// Returns true if a duplicate acknowledgement is due to one of the copies, and uses that copy up.
    fn explain(&mut self) -> bool {
        let explained = self.copies > 0;
        self.copies = self.copies.saturating_sub(1);
        explained
    }

    /// Notes that everything before `number` has arrived.
    fn arrived(&mut self, number: SeqNumber) {
        if self.until.is_some_and(|until| until < number) {
            *self = Self::default();
        }
    }
}

impl<P: Segment> Download<P> {
    pub(crate) fn new() -> Self {
        Self {
            cache: Cache::new(),
            highest: None,
            window: Window::NEW,
            recovery: Recovery::default(),
            needless: RedundantCopies::default(),
            selective: false,
            round_trip: RoundTrip::new(),
            order: Order::default(),
            overtaken_until: None,
            repair_due: None,
            persist_due: None,
        }
    }

    /// Returns the cost of the cache, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.cache.bytes()
    }

    /// Returns true if all of `range` is cached.
    pub(crate) fn keeps(&self, range: SeqRange) -> bool {
        self.cache.covers(range, |_| true)
    }

    /// Sends all of the cache again.
    pub(crate) fn resume(&mut self, context: &Context<'_>, effects: &mut Effects<P>) {
        self.recovery = Recovery::default();
        for entry in self.cache.iter_mut() {
            effects.counters.repairs += 1;
            let copy = entry.repeat(context.now);
            effects.send_to_mobile(self.window.acceptable(copy), false);
        }
        self.repaired(context);
        self.arm_persist(context);
    }

    /// Repeats the last segment, so that its acknowledgement shows which of the others are lost (RFC 8985 §7).
    pub(crate) fn probe(&mut self, context: &Context<'_>, effects: &mut Effects<P>) {
        if let Some(number) = self.cache.last_start().filter(|_| context.config.repair) {
            self.repair(context, number, effects);
        }
    }

    /// Returns the last acknowledgement of the mobile host, if there was one.
    pub(crate) fn last(&self) -> Option<&Header> {
        self.window.last()
    }

    /// Notes the fixed host's SYN.
    pub(crate) fn synchronize(&mut self, header: &Header) {
        self.highest = Some(header.range().end);
    }

    /// Handles a segment with data or a FIN from the fixed host.
    pub(crate) fn data(
        &mut self,
        context: &Context<'_>,
        packet: &P,
        header: &Header,
        effects: &mut Effects<P>,
    ) -> DataPassage {
        let range = header.range();
        if !self.window.takes(range) {
            effects.counters.ignored.implausible += 1;
            return DataPassage::Forward;
        }
        if self
            .window
            .acknowledged()
            .is_some_and(|number| range.end <= number)
        {
            // One byte below the window is a keep-alive: only the mobile host itself can answer it.
            if context.shields() && header.payload > 1 {
                return DataPassage::Answer;
            }
            self.needless.note(self.highest);
            return DataPassage::Forward;
        }
        let late = self.highest.is_some_and(|highest| range.start < highest);
        if let Some(entry) = self.cache.exactly(range) {
            entry.packet = packet.clone();
            entry.sent_at = context.now;
            if std::mem::replace(&mut entry.repeated, true) {
                self.needless.note(self.highest);
            }
            self.sender_repeated(range.start);
            effects.counters.sender_repeats += 1;
        } else {
            self.keep(context, packet, header, late, effects);
        }
        if late {
            self.round_trip.spoil();
        } else {
            self.round_trip.sent(context.now, range.end);
        }
        if self.highest.is_none_or(|highest| highest < range.end) {
            self.highest = Some(range.end);
        }
        self.arm_persist(context);
        DataPassage::Forward
    }

    /// Notes that the sender repeats a cached segment: that copy replaces a repair.
    fn sender_repeated(&mut self, start: SeqNumber) {
        let behind = self.cache.count_behind(start);
        let recovery = &mut self.recovery;
        if self.window.acknowledged() == Some(start) && recovery.duplicates > 0 {
            recovery.expected = behind.saturating_sub(recovery.duplicates);
        }
    }

    fn keep(
        &mut self,
        context: &Context<'_>,
        packet: &P,
        header: &Header,
        late: bool,
        effects: &mut Effects<P>,
    ) {
        let config = context.config;
        let copy = packet.clone();
        let cost = copy.cost();
        let held = self.cache.bytes();
        let limits = &config.limits;
        let fits = held + cost <= limits.flow_bytes.get()
            && cost <= context.room
            && (late || held < limits.high_water.get());
        if !fits {
            effects.counters.uncached += 1;
            return;
        }
        let mut entry = Cached::new(context.now, header.range(), copy, cost);
        entry.late = late;
        self.cache.insert(entry);
        effects.counters.cached += 1;
    }

    /// Sends the segment that holds `number` again, ahead of others. Returns false if it is not cached.
    fn repair(
        &mut self,
        context: &Context<'_>,
        number: SeqNumber,
        effects: &mut Effects<P>,
    ) -> bool {
        let Some(entry) = self.cache.at(number) else {
            return false;
        };
        effects.repair(self.window.acceptable(entry.repeat(context.now)));
        self.repaired(context);
        true
    }

    /// Notes a repair: no round trip is timed on it, and it may be lost too.
    fn repaired(&mut self, context: &Context<'_>) {
        let timing = &context.config.timing;
        self.round_trip.spoil();
        let timeout = self.round_trip.timeout(timing);
        self.repair_due = Some(timing.after(context.now, timeout));
    }

    fn arm_persist(&mut self, context: &Context<'_>) {
        let timing = &context.config.timing;
        let patience = self.round_trip.smoothed(timing) * 2;
        self.persist_due = (context.config.repair && !self.cache.is_empty())
            .then(|| timing.after(context.now, timing.persist.max(patience)));
    }

    /// Returns the time at which [`Download::timeout`] is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        machine::earlier(self.overtaken_until, self.stalled_from())
    }

    /// Returns the time at which nothing has come through for too long.
    fn stalled_from(&self) -> Option<Instant> {
        machine::earlier(self.repair_due, self.persist_due)
    }

    /// Repairs what was overtaken long enough ago. Repeats the oldest segment if its repair brought no new
    /// acknowledgement, or no packet arrived at all.
    pub(crate) fn timeout(&mut self, context: &Context<'_>, effects: &mut Effects<P>) {
        if self.overtaken_until.is_some_and(|due| due <= context.now) {
            self.repair_overtaken(context, effects);
        }
        if self.stalled_from().is_none_or(|due| due > context.now) {
            return;
        }
        self.repair_due = None;
        self.persist_due = None;
        self.recovery = Recovery::default();
        self.needless = RedundantCopies::default();
        let open = self.window.last().filter(|last| last.window > 0);
        let number = open.map(|last| last.acknowledgment);
        if number.is_some_and(|number| self.repair(context, number, effects)) {
            effects.counters.timeouts += 1;
            self.arm_persist(context);
        }
    }

    /// Returns true if every byte between `number` and `end` is cached and was not lost before the agent.
    fn repairable(&self, number: SeqNumber, end: SeqNumber) -> bool {
        let range = SeqRange { start: number, end };
        self.cache.covers(range, |entry| !entry.late)
    }
}
