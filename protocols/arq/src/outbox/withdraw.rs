//! The packets that are left when an association ends.

use super::Outbox;
use crate::Withdrawn;
use crate::report::{Report, ReportError};

impl Outbox {
    /// Returns the packets that the other end has not delivered.
    pub(crate) fn withdraw(mut self, report: &Report) -> Result<Withdrawn, ReportError> {
        let mut withdrawn = Withdrawn::default();
        let sent = self.brief.withdraw(&report.brief);
        withdrawn.packets.extend(sent);
        for slot in self.table.slots() {
            let Some(mut flow) = self.table.remove(slot) else {
                continue;
            };
            if let Some(stream) = flow.stream.take()
                && !report.finished.contains(stream.number)
            {
                let delivered = report.of_stream(stream.number);
                withdrawn.packets.extend(stream.withdraw(delivered)?);
            }
            let queue = if flow.is_transport() {
                &mut withdrawn.transport
            } else {
                &mut withdrawn.packets
            };
            queue.extend(std::iter::from_fn(|| flow.dequeue()));
        }
        Ok(withdrawn)
    }
}
