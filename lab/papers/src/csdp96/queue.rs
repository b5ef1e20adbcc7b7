//! Packets that wait for one receiver, and the tries of the first one.

use std::collections::VecDeque;

use scheduler::Waiting;
use simulator::Packet as Crossing;
use units::{Bytes, Duration, Instant};

use super::packet::Carried;
use super::parameters::Driver;

/// A queue whose first packet is tried until it is acknowledged or given up (the paper, on scheduler operation).
#[derive(Debug, Clone)]
pub(crate) struct Queue<P> {
    driver: Driver,
    packets: VecDeque<(Instant, P)>,
    bytes: Bytes,
    /// Failed tries of the first packet.
    failures: u32,
    /// Number of the first packet: the count of packets that have left.
    number: u64,
    tally: Tally,
}

/// Counters of a queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Bytes that were acknowledged.
    pub(crate) delivered: Bytes,
    /// Frames that were acknowledged.
    pub(crate) frames: u64,
    /// Time from the wire to the acknowledgement, summed over these frames.
    pub(crate) waited: Duration,
    /// Failed tries after which the frame was put back.
    pub(crate) put_back: u64,
    /// Frames that were dropped after the last try.
    pub(crate) given_up: u64,
    /// Packets that were dropped because the queue was full.
    pub(crate) refused: u64,
}

impl<P: Crossing> Queue<P> {
    /// Creates an empty queue.
    pub(crate) fn new(driver: Driver) -> Self {
        Self {
            driver,
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
            failures: 0,
            number: 0,
            tally: Tally::default(),
        }
    }

    /// Returns the counters.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Adds a packet, or drops it if the queue is full.
    pub(crate) fn push(&mut self, now: Instant, packet: P) {
        if self.packets.len() >= self.driver.queue {
            self.tally.refused += 1;
            return;
        }
        self.bytes += packet.length();
        self.packets.push_back((now, packet));
    }

    /// Returns the state of the queue for the scheduler; `None` if it is empty.
    pub(crate) fn waiting(&self) -> Option<Waiting> {
        let (oldest, _) = self.packets.front()?;
        Some(Waiting {
            bytes: self.bytes,
            oldest: *oldest,
        })
    }

    /// Returns the frame at the head.
    pub(crate) fn head(&self) -> Option<Carried<P>> {
        let (_, packet) = self.packets.front()?;
        Some(Carried::Packet {
            number: self.number,
            packet: packet.clone(),
        })
    }

    /// Removes the first packet, which was acknowledged.
    pub(crate) fn delivered(&mut self, now: Instant) {
        if let Some((came, packet)) = self.leave() {
            self.tally.delivered += packet.length();
            self.tally.frames += 1;
            self.tally.waited += now.since(came);
        }
    }

    /// Counts a failed try of the first packet; returns true if the packet was given up.
    pub(crate) fn failed(&mut self) -> bool {
        self.failures += 1;
        if self.failures <= self.driver.retries {
            self.tally.put_back += 1;
            return false;
        }
        self.tally.given_up += 1;
        self.leave();
        true
    }

    fn leave(&mut self) -> Option<(Instant, P)> {
        let (came, packet) = self.packets.pop_front()?;
        self.bytes -= packet.length();
        self.failures = 0;
        self.number += 1;
        Some((came, packet))
    }
}
