//! The end of an association, and what is left of it for another one.

use wire::packet::Packet;

use super::Arq;
use super::receive::deliver;
use crate::Report;

/// The packets that an end has not delivered, or may not have, each flow's in their order.
#[derive(Debug, Default)]
pub struct Withdrawn {
    /// IP packets: those that had been sent, then those that had not.
    pub packets: Vec<Packet>,
    /// Packets of the split transport that had not been sent.
    pub transport: Vec<Packet>,
    /// True if all that the end lacks is among them, and nothing else.
    pub is_whole: bool,
}

impl Arq {
    /// Delivers what waits for its turn, and returns what has been delivered then. The other end withdraws what the
    /// report lacks, so a frame that arrives after it must not be passed on.
    pub fn report(&mut self) -> Report {
        let (outputs, received) = (&mut self.outputs, &mut self.stats.received);
        self.inbox
            .report(&mut |packet| deliver(packet, outputs, received))
    }

    /// Ends this end; returns the packets that the other one has not delivered, by its report. Without a report, or
    /// with one of another life, which lacks what this end does not have any more, these are the packets that had not
    /// been sent, and those of TCP that it has not confirmed.
    pub fn withdraw(self, report: Option<&Report>) -> Withdrawn {
        self.outbox.withdraw(report)
    }
}
