//! The capacity of a link, which goodput is compared with.

use std::ops::Range;

use units::{Bytes, Instant, Probability};

use crate::Direction;
use crate::link::Link;
use crate::opportunities::OPPORTUNITY;
use crate::plan::Rate;
use crate::process::Process;

impl Link {
    /// Returns the most wire bytes that can arrive in `direction` of those sent within `span`, in a run with `seed`:
    /// the rate over the periods that the seed draws, times the probability that each state (or an independent loss)
    /// lets a packet through. For reports; `None` if the rate is unlimited.
    ///
    /// A policer lowers it to the policer's long-term rate, if that is less; a burst can exceed it. The probability of
    /// damage is deducted too.
    ///
    /// Errors that depend on the size of packets (distance, burst, Markov) are not deducted, nor are packets that the
    /// edge of a fade cuts. A half-duplex medium carries this amount for both directions together.
    pub fn capacity(&self, direction: Direction, seed: u64, span: Range<Instant>) -> Option<Bytes> {
        let loss = self.errors(direction).state_loss();
        let damage = self.journey(direction).faults.damage;
        let Some(timeline) = self.timeline(direction, seed) else {
            let carried = self.carried(direction, seed, span)?;
            return Some(surviving(surviving(carried, loss.good), damage));
        };
        let (mut good, mut bad) = (Bytes::ZERO, Bytes::ZERO);
        for period in timeline.take_while(|period| period.from < span.end) {
            let end = period.until.map_or(span.end, |until| until.min(span.end));
            let carried = self.carried(direction, seed, period.from.max(span.start)..end)?;
            if period.good {
                good += carried;
            } else {
                bad += carried;
            }
        }
        let arrive = surviving(good, loss.good) + surviving(bad, loss.bad);
        Some(surviving(arrive, damage))
    }

    /// Returns the bytes that the air carries within `span`, lost or not, of those that a policer lets pass.
    fn carried(&self, direction: Direction, seed: u64, span: Range<Instant>) -> Option<Bytes> {
        let policer = self.journey(direction).policer.as_ref();
        let passes = policer.map(|policer| policer.rate.bytes_in(span.end - span.start));
        match (self.transmitted(direction, seed, span), passes) {
            (Some(carried), Some(passes)) => Some(carried.min(passes)),
            (only, None) | (None, only) => only,
        }
    }

    /// Returns the bytes that the air carries within `span`.
    fn transmitted(&self, direction: Direction, seed: u64, span: Range<Instant>) -> Option<Bytes> {
        if let Some(config) = self.process(direction) {
            let process = Process::new(config, seed, direction);
            return Some(process.carried(span.start, span.end));
        }
        if let Some(trace) = self.trace(direction) {
            let count = trace
                .first_from(span.end)
                .saturating_sub(trace.first_from(span.start));
            return Some(OPPORTUNITY * count);
        }
        let (mut at, mut carried) = (span.start, Bytes::ZERO);
        while at < span.end {
            let (step, end) = self.plan(direction).at(at);
            let end = end.map_or(span.end, |end| end.min(span.end));
            match step.rate {
                Rate::Unlimited => return None,
                Rate::Limited(rate) => carried += rate.bytes_in(end - at),
            }
            at = end;
        }
        Some(carried)
    }
}

fn surviving(carried: Bytes, loss: Probability) -> Bytes {
    Bytes::new((carried.get() as f64 * loss.complement().as_f64()) as u64)
}
