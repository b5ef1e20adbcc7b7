//! How large the receive buffer is, and may become.

use redirector::Content;
use units::Instant;

use super::Receiver;
use super::growth::Growth;

/// The buffer.
#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    /// What it holds now, in bytes.
    pub(super) buffer: u64,
    /// What it may come to hold.
    pub(super) most: u64,
    /// What it should hold, by the last measurement that said more.
    pub(super) wanted: u64,
    /// By how many bits windows are shifted, which is for the largest.
    pub(super) shift: u32,
    /// Data that arrived for the first time, in bytes.
    pub(super) arrived: u64,
    pub(super) growth: Growth,
}

impl<C: Content> Receiver<C> {
    /// The buffer as it is now, in bytes.
    pub(crate) fn buffer(&self) -> u64 {
        self.size.buffer
    }

    /// A packet of this cycle goes out.
    pub(crate) fn sent(&mut self, cycle: u64, now: Instant) {
        if self.size.buffer < self.size.most {
            self.size.growth.sent(cycle, self.size.arrived, now);
        }
    }

    /// The other end has heard the packet of the cycle `heard`: measures what the buffer should hold.
    pub(crate) fn measure(&mut self, heard: u64, now: Instant) {
        if self.size.buffer < self.size.most {
            let arrived = self.size.arrived;
            let unread = self.ready.length();
            let needed = self.size.growth.heard(heard, arrived, unread, now);
            let wanted = needed.unwrap_or(0).min(self.size.most);
            self.size.wanted = self.size.wanted.max(wanted);
        }
    }

    /// Grows to what is wanted, by at most `room` bytes. It never shrinks: what was announced stays.
    pub(crate) fn grow(&mut self, room: u64) -> u64 {
        let more = self.size.wanted.saturating_sub(self.size.buffer).min(room);
        self.size.buffer += more;
        more
    }
}
