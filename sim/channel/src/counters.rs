//! Counters of a channel.

use units::{Bytes, Duration};

/// Number of packets and the sum of their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their sizes on the wire.
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

/// Reason why a packet does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The queue was full when it arrived there.
    QueueFull,
    /// It is longer than the MTU of the direction.
    TooLong,
    /// It was lost on the air; reported when it would have arrived.
    Air,
    /// It exceeded the limits of a policer.
    Policer,
    /// It was damaged on its way, which its checksum shows; reported when it would have arrived.
    Damage,
}

/// Counters of the faults of packets that arrived nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCounters {
    /// Packets that arrived a second time.
    pub duplicated: Amount,
    /// Packets that arrived with flipped bits; they count as delivered too.
    pub corrupted: Amount,
    /// Packets that came to the end of their way after one that was transmitted later (RFC 4737 §3.3).
    pub reordered: Amount,
}

/// Counters of the packets of one direction.
///
/// `offered = delivered + dropped_queue + dropped_too_long + dropped_policer + dropped_air + damaged + inside`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets given to the channel.
    pub offered: Amount,
    /// Packets that arrived.
    pub delivered: Amount,
    /// Packets dropped because the queue was full.
    pub dropped_queue: Amount,
    /// Packets dropped by a policer.
    pub dropped_policer: Amount,
    /// Packets dropped because they were longer than the MTU of the direction.
    pub dropped_too_long: Amount,
    /// Packets lost on the air.
    pub dropped_air: Amount,
    /// Packets damaged on their way.
    pub damaged: Amount,
    /// Faults of packets that arrived.
    pub faults: FaultCounters,
    /// Packets that wait, are transmitted, or are on their way.
    pub inside: Amount,
    /// Largest number of packets, and largest number of bytes, that waited for the air at once (not necessarily at the
    /// same time). A packet that is being transmitted does not wait.
    pub queue_peak: Amount,
    /// Sum of the times from a packet's arrival to the start of its transmission, over all packets whose transmission
    /// has started.
    pub wait: Duration,
    /// Packets whose transmission has started.
    pub transmitted: Amount,
}

impl Counters {
    /// Returns the counter of packets that were dropped for this cause.
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

    /// Returns the mean time from a packet's arrival to the start of its transmission; zero before the first.
    pub fn mean_wait(&self) -> Duration {
        match self.transmitted.packets {
            0 => Duration::ZERO,
            packets => self.wait / packets,
        }
    }
}
