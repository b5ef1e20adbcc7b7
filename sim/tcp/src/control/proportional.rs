//! Proportional rate reduction (RFC 6937): the window decreases over one round trip, as segments leave the network.

/// State of a reduction, in bytes.
#[derive(Debug, Clone)]
pub(super) struct Proportional {
    /// Bytes in flight at its beginning.
    before: u64,
    /// Window at its end.
    target: u64,
    arrived: u64,
    sent: u64,
}

impl Proportional {
    pub(super) fn new(before: u64, target: u64) -> Self {
        Self {
            before: before.max(1),
            target,
            arrived: 0,
            sent: 0,
        }
    }

    pub(super) fn on_sent(&mut self, size: u64) {
        self.sent += size;
    }

    /// Returns the window after an acknowledgement of `arrived` bytes, with `in_flight` bytes in flight; `calm` if it
    /// showed no more losses.
    pub(super) fn window(&mut self, arrived: u64, in_flight: u64, segment: u64, calm: bool) -> u64 {
        self.arrived += arrived;
        let allowed = if in_flight > self.target {
            let due = (self.target * self.arrived).div_ceil(self.before);
            due.saturating_sub(self.sent)
        } else {
            let unsent = self.arrived.saturating_sub(self.sent).max(arrived);
            let more = if calm { segment } else { 0 };
            (unsent + more).min(self.target - in_flight)
        };
        // The first retransmission goes at once.
        let least = if self.sent == 0 { segment } else { 0 };
        in_flight + allowed.max(least)
    }
}
