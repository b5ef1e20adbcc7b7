//! The limit on packets that one end hands over at a time.
//!
//! A packet costs the host far more than its bytes on the hop: two bytes may stand for one. So an end releases packets
//! for some work in a turn, and keeps the others until the next turn. Between two turns the host serves its other
//! peers.

use planted::Bug;
use units::{Duration, Instant};
use wire::packet::Packet;

/// Work of a turn, in bytes of buffers, if packets are not limited: all at once could be far more than was held.
const BYTES: usize = 1 << 20;
/// Most packets of usual length in a turn, if packets are limited.
const PACKETS: u32 = 64;
/// Most packets of usual length in a turn that is shortened.
const FEW: u32 = 4;
/// Bytes of the buffer of such a packet.
const USUAL: usize = 2 << 10;
/// Work for a packet beside its bytes, in bytes that a processor copies meanwhile, if packets are limited.
const EACH: usize = 4 << 10;

/// The current turn of an end.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Work for each packet beside its bytes, and in all.
    each: usize,
    most: usize,
    /// Work that is left.
    left: usize,
    length: Duration,
    ends: Instant,
}

impl Turn {
    /// Returns the first turn of an end that releases at most so many packets of usual length a second in the long
    /// run. Without a limit, turns follow each other at once.
    pub(crate) fn new(packets_per_second: Option<u32>) -> Self {
        let limit = packets_per_second.filter(|_| !planted::is(Bug::PacketsAreFree));
        let (each, most, length) = match limit {
            None => (0, BYTES, Duration::ZERO),
            Some(rate) => (
                EACH,
                PACKETS as usize * (EACH + USUAL),
                Duration::from_secs(1) * u64::from(PACKETS) / u64::from(rate.max(1)),
            ),
        };
        Self {
            each,
            most,
            left: most,
            length,
            ends: Instant::ZERO,
        }
    }

    /// Returns a turn for one packet.
    pub(crate) fn of_one() -> Self {
        Self {
            left: 1,
            ..Self::new(None)
        }
    }

    /// Begins the next turn if this one has ended.
    pub(crate) fn pass(&mut self, now: Instant) {
        if self.ends <= now {
            self.ends = now + self.length;
            self.left = self.most;
        }
    }

    /// Leaves only a few packets in the current turn, if packets are limited.
    pub(crate) fn shorten(&mut self, now: Instant) {
        if self.length > Duration::ZERO {
            self.pass(now);
            self.left = self.left.min(FEW as usize * (EACH + USUAL));
        }
    }

    /// Returns true if nothing more may be released in this turn.
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Returns the time from which packets may be released.
    pub(crate) fn free_at(&self, now: Instant) -> Instant {
        if self.is_over() { self.ends } else { now }
    }

    /// Counts the work for a packet.
    pub(crate) fn take(&mut self, packet: &Packet) {
        self.left = self.left.saturating_sub(packet.capacity() + self.each);
    }
}
