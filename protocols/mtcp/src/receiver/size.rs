//! The size of the receive buffer, and its growth.

use redirector::Content;
use units::Instant;

use super::Receiver;
use super::growth::Growth;

/// Size of the receive buffer.
#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    /// Current size, in bytes.
    pub(super) buffer: u64,
    /// Maximum size, in bytes.
    pub(super) most: u64,
    /// Size in bytes that the largest measurement asked for.
    pub(super) wanted: u64,
    /// Window shift in bits, for the maximum size.
    pub(super) shift: u32,
    /// Bytes of data that arrived for the first time.
    pub(super) arrived: u64,
    pub(super) growth: Growth,
}

impl<C: Content> Receiver<C> {
    /// Returns the current receive buffer, in bytes.
    pub(crate) fn buffer(&self) -> u64 {
        self.size.buffer
    }

    /// Notes that a packet of this cycle goes out.
    pub(crate) fn sent(&mut self, cycle: u64, now: Instant) {
        if self.size.buffer < self.size.most {
            self.size.growth.sent(cycle, self.size.arrived, now);
        }
    }

    /// Notes that the peer has received the packet of the cycle `heard`, and measures the wanted buffer size.
    pub(crate) fn measure(&mut self, heard: u64, now: Instant) {
        if self.size.buffer < self.size.most {
            let arrived = self.size.arrived;
            let unread = self.ready.length();
            let needed = self.size.growth.heard(heard, arrived, unread, now);
            let wanted = needed.unwrap_or(0).min(self.size.most);
            self.size.wanted = self.size.wanted.max(wanted);
        }
    }

    /// Grows the buffer to the wanted size, by at most `room` bytes, and returns the growth. It never shrinks: an
    /// announced window stays.
    pub(crate) fn grow(&mut self, room: u64) -> u64 {
        let more = self.size.wanted.saturating_sub(self.size.buffer).min(room);
        self.size.buffer += more;
        more
    }
}
