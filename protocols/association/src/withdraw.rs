//! The end of an association whose packets go on by another one.

use arq::{Report, Withdrawn};
use units::Instant;

use crate::Association;

impl Association {
    /// Delivers all packets that wait for their turn, and returns what has been delivered then. No frame that arrives
    /// later may be passed on: the other end withdraws what the report lacks.
    pub fn report(&mut self, now: Instant) -> Report {
        let report = self.arq.report();
        self.drain(now);
        report
    }

    /// Ends the association; returns the packets that the other end has not delivered, or may not have: see
    /// [`Arq::withdraw`](arq::Arq::withdraw). Packets without repair that are on their way are not among them, nor is
    /// what streams have.
    pub fn withdraw(self, report: Option<&Report>) -> Withdrawn {
        self.arq.withdraw(report)
    }
}
