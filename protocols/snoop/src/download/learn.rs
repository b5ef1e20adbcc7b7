//! The information in acknowledgements: segments that arrived, and segments lost on the air.

use units::{Instant, SeqNumber};
use wire::tcp::{AirLoss, SackRanges, SeqRange};

use super::Download;
use crate::cache::Cached;
use crate::config::ExplicitLoss;
use crate::effects::{Context, Effects};
use crate::segment::AIR_LOSS_RANGES;
use crate::{Header, Segment};

impl<P: Segment> Download<P> {
    /// Returns true if repair uses selective information, not the number of duplicates.
    pub(super) fn is_informed(&self, context: &Context<'_>) -> bool {
        context.config.smart && self.selective
    }

    /// Returns true if the agent must know which segments arrived: for repair, or for marks with ranges.
    pub(super) fn tracks_arrivals(&self, context: &Context<'_>) -> bool {
        let names = context.config.explicit_loss == ExplicitLoss::Ranges;
        self.selective && (context.config.smart || names)
    }

    /// Notes the segments that arrived, and repairs missing segments that were sent before one that arrived.
    pub(super) fn learn(
        &mut self,
        context: &Context<'_>,
        header: &Header,
        effects: &mut Effects<P>,
    ) {
        self.note_arrivals(context.now, header);
        if !(context.config.repair && context.config.smart) {
            return;
        }
        self.repair_overtaken(context, effects);
    }

    /// Repairs missing segments that were sent before one that arrived. On a hop that keeps order, the first sign is
    /// proof; on another, an overtaken segment gets the reordering window. A segment that was repeated already is not
    /// repaired again until something sent after it, by that window, has arrived (Balakrishnan 1997, SMART: one round
    /// trip). An estimated round trip would lag behind a growing queue.
    pub(super) fn repair_overtaken(&mut self, context: &Context<'_>, effects: &mut Effects<P>) {
        self.overtaken_until = None;
        let now = context.now;
        let round_trip = self.round_trip.smoothed(&context.config.timing);
        let window = self.order.window(context.config, round_trip);
        let Some(newest) = self.newest_arrival() else {
            return;
        };
        let settled = self.newest_departure();
        let before = self
            .cache
            .iter_mut()
            .take_while(|entry| entry.range.end <= newest);
        let mut repairs = 0;
        for entry in before.filter(|entry| !entry.arrived && !entry.late) {
            let since = *entry.overtaken.get_or_insert(now);
            if since + window > now {
                self.overtaken_until = machine::earlier(self.overtaken_until, Some(since + window));
                continue;
            }
            if !entry.repeated || settled.is_some_and(|settled| entry.sent_at + window < settled) {
                effects.repair(self.window.acceptable(entry.repeat(now)));
                repairs += 1;
            }
        }
        if repairs > 0 {
            self.repaired(context);
        }
    }

    fn note_arrivals(&mut self, now: Instant, header: &Header) {
        let order = &mut self.order;
        let mut arrived = |entry: &mut Cached<P>| {
            if !entry.arrived {
                entry.arrived = true;
                order.arrived(now, entry.arrival(now));
            }
        };
        if let Some(cause) = header.options.cause
            && let Some(entry) = self.cache.at(cause)
        {
            arrived(entry);
        }
        for block in header.options.sack.iter() {
            if block.start < block.end {
                let whole = |range: SeqRange| block.start <= range.start && range.end <= block.end;
                let overlapping = self.cache.overlapping(block);
                overlapping
                    .filter(|entry| whole(entry.range))
                    .for_each(&mut arrived);
            }
        }
    }

    /// Returns the start of the last segment that is known to have arrived.
    fn newest_arrival(&self) -> Option<SeqNumber> {
        let arrived = self.cache.iter().filter(|entry| entry.arrived);
        arrived.last().map(|entry| entry.range.start)
    }

    /// Returns the sending time of the last segment that is known to have arrived; only of segments sent once, since
    /// any copy of another may be the one that arrived.
    fn newest_departure(&self) -> Option<Instant> {
        let arrived = self.cache.iter().filter(|entry| entry.arrived);
        let once = arrived.filter(|entry| !entry.repeated);
        once.map(|entry| entry.sent_at).max()
    }

    /// Returns the losses on the air that an acknowledgement of `number` may report. Segments that came late had been
    /// lost or overtaken on the wired side, and are never reported.
    pub(super) fn air_loss(&mut self, context: &Context<'_>, number: SeqNumber) -> Option<AirLoss> {
        let mode = context.config.explicit_loss;
        // A shielded sender needs no notification.
        if mode == ExplicitLoss::Off || context.shields() {
            return None;
        }
        let ranges = self.missing(number);
        match mode {
            ExplicitLoss::Ranges if ranges.iter().len() > 0 => Some(AirLoss::Ranges(ranges)),
            ExplicitLoss::Next => {
                let asked = ranges.iter().any(|range| range.start <= number);
                asked.then_some(AirLoss::Next)
            }
            ExplicitLoss::Off | ExplicitLoss::Ranges => None,
        }
    }

    /// Returns up to three ranges that are known to be lost on the air, the lowest first.
    fn missing(&mut self, number: SeqNumber) -> SackRanges {
        let mut ranges = SackRanges::default();
        let newest = self.newest_arrival();
        let duplicates = self.recovery.duplicates > 0;
        let lost = self.cache.iter().filter(|entry| {
            let overtaken = newest.is_some_and(|newest| entry.range.end <= newest);
            let asked = duplicates && entry.range.start <= number;
            !entry.arrived && !entry.late && (overtaken || asked)
        });
        for entry in lost.take(AIR_LOSS_RANGES) {
            ranges.push(entry.range);
        }
        ranges
    }
}
