//! Acknowledgements from the mobile host.

use units::SeqNumber;
use wire::tcp::SeqRange;

use super::{Download, Recovery};
use crate::effects::{Context, Effects};
use crate::segment::Revision;
use crate::{Header, Segment};

/// Decision about the acknowledgement of a segment from the mobile host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It is forwarded, with these changes.
    Forward(Revision),
    /// It is held back.
    Hold,
}

impl<P: Segment> Download<P> {
    /// Notes the mobile host's SYN.
    pub(crate) fn answer_synchronized(&mut self, header: &Header) {
        self.window.synchronize(header);
    }

    /// Handles the acknowledgement of a segment from the mobile host.
    pub(crate) fn acknowledged(
        &mut self,
        context: &Context<'_>,
        header: &Header,
        effects: &mut Effects<P>,
    ) -> Passage {
        let number = header.acknowledgment;
        if !self.window.is_near(number) {
            effects.counters.ignored.implausible += 1;
            return Passage::Forward(Revision::default());
        }
        self.selective |= header.options.cause.is_some() || header.options.sack.iter().len() > 0;
        let ahead = self
            .window
            .acknowledged()
            .map(|last| number.distance_from(last));
        let passage = match ahead {
            Some(..0) if context.shields() && header.is_pure_acknowledgment() => Passage::Hold,
            Some(..0) => self.pass(context, header),
            Some(0) => self.same(context, header, effects),
            Some(1..) | None => self.new_acknowledgment(context, header, effects),
        };
        if passage == Passage::Hold {
            effects.counters.held += 1;
        }
        passage
    }

    /// Handles a new acknowledgement: more data have arrived than before.
    fn new_acknowledgment(
        &mut self,
        context: &Context<'_>,
        header: &Header,
        effects: &mut Effects<P>,
    ) -> Passage {
        let number = header.acknowledgment;
        // The rule of the next expected acknowledgement is that of LL-TCP-AWARE; under LL the sender's own copies
        // would trigger it.
        let last = self.window.acknowledged();
        let known = context.config.tcp_aware && last.is_some_and(|last| self.covers(last, number));
        let order = &mut self.order;
        let freed = self.cache.free(number, |entry| {
            if !entry.arrived {
                order.arrived(context.now, entry.arrival(context.now));
            }
        });
        self.window.note(header);
        self.needless.arrived(number);
        self.round_trip
            .arrived(context.now, number, &context.config.timing);
        if self.highest.is_some_and(|highest| highest < number) {
            self.highest = Some(number);
        }
        self.arm_persist(context);
        let beyond = self.held_beyond(number, freed, known);
        if beyond == 0 {
            self.recovery = Recovery::default();
            self.repair_due = None;
        }
        if self.tracks_arrivals(context) {
            self.learn(context, header, effects);
        }
        if beyond > 0 && !self.is_informed(context) {
            self.recovery.duplicates = beyond;
            self.recovery.expected = 0;
            self.repair_next(context, number, effects);
        }
        self.pass(context, header)
    }

    /// Returns the number of segments that the mobile host holds beyond `number`, after an acknowledgement that freed
    /// `freed` segments: each duplicate acknowledgement before stood for one that had arrived.
    ///
    /// With one loss the new acknowledgement covers them all and the lost one. If it covers less, the loss was part
    /// of a burst, and the segment that it requests is lost too (the comparison's rule of the next expected new
    /// acknowledgement). Segments that are still in the queue to the air do not count, so a repair that overtakes
    /// them is no sign of a burst.
    fn held_beyond(&self, number: SeqNumber, freed: usize, known: bool) -> usize {
        let in_burst = self.recovery.until.is_some_and(|until| number < until);
        if in_burst && known {
            (self.recovery.duplicates + 1).saturating_sub(freed)
        } else {
            0
        }
    }

    /// Repairs the next segment of a burst, which is lost as well.
    fn repair_next(&mut self, context: &Context<'_>, number: SeqNumber, effects: &mut Effects<P>) {
        let settled = self.round_trip.smoothed(&context.config.timing);
        let fresh = self.cache.at(number).is_some_and(|entry| {
            !entry.late && (!entry.repeated || context.now.since(entry.sent_at) >= settled)
        });
        if fresh && context.config.repair {
            self.repair(context, number, effects);
            let behind = self.cache.count_behind(number);
            self.recovery.expected = behind.saturating_sub(self.recovery.duplicates);
        }
    }

    /// Handles an old acknowledgement number: a duplicate, a window update, or data with an old number.
    fn same(
        &mut self,
        context: &Context<'_>,
        header: &Header,
        effects: &mut Effects<P>,
    ) -> Passage {
        let number = header.acknowledgment;
        let outstanding = self.highest.is_some_and(|highest| number < highest);
        let window_moved = self
            .window
            .last()
            .is_none_or(|last| last.window != header.window);
        self.window.note(header);
        if !outstanding || header.window == 0 {
            return self.pass(context, header);
        }
        let informed = self.is_informed(context);
        let news = header.reports_arrival();
        if news && self.tracks_arrivals(context) {
            self.learn(context, header, effects);
        }
        // RFC 5681 §2, and RFC 6675 §2 with selective information.
        let duplicate = header.is_pure_acknowledgment() && (news || !window_moved);
        if !duplicate || header.reports_repeat_by_sack() {
            return self.pass(context, header);
        }
        let here = self.cache.at(number).is_some_and(|entry| !entry.late);
        if !here {
            effects.counters.passed += 1;
            return self.pass(context, header);
        }
        let of_repeat = match header.options.cause {
            Some(cause) => cause < number,
            None => !news && self.needless.explain(),
        };
        self.recovery.duplicates += usize::from(!of_repeat);
        let known = of_repeat || (informed && news);
        if !known && context.config.repair {
            self.count(context, number, effects);
        }
        if context.shields() && !window_moved {
            Passage::Hold
        } else {
            effects.counters.passed += 1;
            self.pass(context, header)
        }
    }

    /// Counts one more duplicate for a segment that is in the cache.
    fn count(&mut self, context: &Context<'_>, number: SeqNumber, effects: &mut Effects<P>) {
        let recovery = &mut self.recovery;
        if recovery.expected > 0 {
            recovery.expected -= 1;
        } else if recovery.duplicates >= context.config.duplicates as usize {
            self.repair(context, number, effects);
            let behind = self.cache.count_behind(number);
            let recovery = &mut self.recovery;
            recovery.expected = behind.saturating_sub(recovery.duplicates);
            recovery.until = recovery.until.or(self.highest);
        }
    }

    /// Forwards the segment, without reports of losses that the agent repairs.
    fn pass(&mut self, context: &Context<'_>, header: &Header) -> Passage {
        let number = header.acknowledgment;
        let highest = header.options.sack.iter().map(|block| block.end);
        let highest = highest.filter(|end| number < *end);
        let highest = highest.reduce(|one, other| if one < other { other } else { one });
        let hide_sack =
            context.shields() && highest.is_some_and(|highest| self.repairable(number, highest));
        Passage::Forward(Revision {
            hide_sack,
            hide_cause: context.config.smart && context.config.repair,
            air_loss: self.air_loss(context, number),
            ..Revision::default()
        })
    }

    fn covers(&self, start: SeqNumber, end: SeqNumber) -> bool {
        self.cache.covers(SeqRange { start, end }, |_| true)
    }
}
