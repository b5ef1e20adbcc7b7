//! What a channel has seen.

use crate::channel::Cause;
use units::{Bytes, Duration};

/// A number of packets and their bytes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// How many packets.
    pub packets: u64,
    /// Their sizes on the wire, added up.
    pub bytes: Bytes,
}

impl Amount {
    /// Adds one packet of `size`.
    pub fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }

    pub(crate) fn remove(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
    }
}

/// What happened to the packets of one direction so far.
///
/// `offered = delivered + dropped_queue + dropped_too_long + dropped_policer + dropped_air + damaged + inside`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Given to the channel.
    pub offered: Amount,
    /// Handed out at the far end.
    pub delivered: Amount,
    /// Refused because the queue was full.
    pub dropped_queue: Amount,
    /// Refused by a policer.
    pub dropped_policer: Amount,
    /// Refused because they were longer than the direction carries.
    pub dropped_too_long: Amount,
    /// Lost on the air.
    pub dropped_air: Amount,
    /// Changed on their way.
    pub damaged: Amount,
    /// Handed out once more than they were offered.
    pub duplicated: Amount,
    /// Waiting, being transmitted, or on their way.
    pub inside: Amount,
    /// The most that ever waited for the air at once, by packets and by bytes (not necessarily
    /// at the same time). A packet that is being transmitted does not wait.
    pub queue_peak: Amount,
    /// How long packets waited between their arrival and the start of their transmission, added up
    /// over all packets whose transmission has started.
    pub wait: Duration,
    /// How many transmissions have started.
    pub transmitted: Amount,
}

impl Counters {
    /// Those that were dropped for this cause.
    pub(crate) fn dropped(&mut self, cause: Cause) -> &mut Amount {
        match cause {
            Cause::QueueFull => &mut self.dropped_queue,
            Cause::TooLong => &mut self.dropped_too_long,
            Cause::Air => &mut self.dropped_air,
            Cause::Policer => &mut self.dropped_policer,
            Cause::Damage => &mut self.damaged,
        }
    }

    pub(crate) fn note_queue(&mut self, waiting: Amount) {
        self.queue_peak.packets = self.queue_peak.packets.max(waiting.packets);
        self.queue_peak.bytes = self.queue_peak.bytes.max(waiting.bytes);
    }

    /// The mean time from a packet's arrival to the start of its transmission; zero before the first.
    pub fn mean_wait(&self) -> Duration {
        match self.transmitted.packets {
            0 => Duration::ZERO,
            packets => self.wait / packets,
        }
    }
}
