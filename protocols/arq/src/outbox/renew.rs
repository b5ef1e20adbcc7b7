//! The continuation of flows with an end that has reported what it has.

use units::{Instant, RangeSet};

use super::Outbox;
use crate::flow::{Ending, Flow};
use crate::report::{Report, ReportError};
use crate::watch::EarlyRepairs;

impl Outbox {
    /// Sends again what the other end lacks of that which has been sent.
    pub(crate) fn renew(&mut self, now: Instant, report: &Report) -> Result<(), ReportError> {
        self.check(report)?;
        self.watch = EarlyRepairs::default();
        self.fresh_first = false;
        self.brief.renew(now, &report.brief);
        let nothing = RangeSet::default();
        for slot in self.table.slots() {
            let change = |flow: &mut Flow| {
                let stream = flow.stream.as_mut()?;
                let span = stream.span();
                if report.finished.contains(stream.number) {
                    return Some((span, true));
                }
                stream.renew(report.of_stream(stream.number).unwrap_or(&nothing));
                flow.ending = flow.ending.map(|_| Ending::Due);
                Some((span - stream.span(), false))
            };
            if let Some((freed, has_ended)) = self.table.change(slot, change).flatten() {
                self.span -= freed;
                if has_ended {
                    self.remove(slot);
                }
            }
            let flow = self.table.get_mut(slot);
            if let Some(flow) = flow.filter(|flow| flow.has_work(true)) {
                self.order.activate(slot, &mut flow.place);
            }
        }
        Ok(())
    }

    /// Refuses a report that contradicts what was confirmed.
    fn check(&self, report: &Report) -> Result<(), ReportError> {
        let flows = self.table.slots().filter_map(|slot| self.table.get(slot));
        let nothing = RangeSet::default();
        for flow in flows {
            let Some(stream) = &flow.stream else {
                continue;
            };
            let number = stream.number;
            if report.finished.contains(number) {
                if flow.ending.is_none() {
                    return Err(ReportError::Ended(number));
                }
            } else if !stream.agrees_with(report.of_stream(number).unwrap_or(&nothing)) {
                return Err(ReportError::Lacks(number));
            }
        }
        Ok(())
    }
}
