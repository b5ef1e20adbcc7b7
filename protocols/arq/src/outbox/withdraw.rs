//! The packets that are left when an association ends.

use wire::ip::Protocol;

use super::Outbox;
use crate::Withdrawn;
use crate::report::{Delivered, Report};

impl Outbox {
    /// Returns the packets that the other end has not delivered, or may not have.
    pub(crate) fn withdraw(mut self, report: Option<&Report>) -> Withdrawn {
        let report = report.filter(|report| self.is_reported_by(report));
        let mut withdrawn = Withdrawn {
            is_whole: report.is_some(),
            ..Withdrawn::default()
        };
        if let Some(report) = report {
            let sent = self.brief.withdraw(&report.brief);
            withdrawn.packets.extend(sent);
        }
        for slot in self.table.slots() {
            let Some(mut flow) = self.table.remove(slot) else {
                continue;
            };
            // They leave the stream's queue as if they were sent, with clocks that its receiver takes.
            let waiting: Vec<_> = std::iter::from_fn(|| flow.dequeue()).collect();
            if let Some(stream) = flow.stream.take()
                && !report.is_some_and(|report| report.finished.contains(stream.number))
            {
                let delivered = report.map(|report| report.of_stream(stream.number));
                // Of what may have been delivered only TCP tolerates a copy.
                let may_repeat = flow.key.protocol == Protocol::TCP;
                if let Some(delivered) = delivered.or(may_repeat.then(Delivered::default)) {
                    withdrawn.packets.extend(stream.withdraw(delivered));
                }
            }
            let queue = if flow.is_transport() {
                &mut withdrawn.transport
            } else {
                &mut withdrawn.packets
            };
            queue.extend(waiting);
        }
        withdrawn
    }

    /// Returns true if a report is one of the other end: one of another life lacks what this end does not have any
    /// more.
    fn is_reported_by(&self, report: &Report) -> bool {
        let mut flows = self.table.slots().filter_map(|slot| self.table.get(slot));
        flows.all(|flow| {
            flow.stream.as_ref().is_none_or(|stream| {
                let read = report.of_stream(stream.number).read;
                report.finished.contains(stream.number) || stream.has_all_from(read)
            })
        })
    }
}
