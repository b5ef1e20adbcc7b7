//! The packets of one flow that wait.

use std::collections::VecDeque;

use units::Instant;
use wire::packet::Packet;

use crate::repetition::{Repetition, later};

/// A packet that waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) since: Instant,
    pub(crate) packet: Packet,
    /// True if it has overtaken others.
    pub(crate) is_again: bool,
}

/// A queue of packets.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    packets: VecDeque<Waiting>,
    bytes: usize,
    /// Bytes of their buffers.
    storage: usize,
    /// Clock of the sender in the latest segment that has overtaken others (RFC 7323 §5): a segment with an earlier one
    /// counts as an old one behind it.
    clock: Option<u32>,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns the bytes of the packets.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of their buffers, and of the places for packets.
    pub(crate) fn memory(&self) -> (usize, usize) {
        (self.storage, self.packets.capacity() * size_of::<Waiting>())
    }

    /// Frees the memory of a queue that has been longer.
    pub(crate) fn shrink(&mut self) {
        self.packets.shrink_to_fit();
    }

    /// Returns the packet that leaves next.
    pub(crate) fn front(&self) -> Option<&Waiting> {
        self.packets.front()
    }

    /// Returns the packet that leaves next; its length must not change.
    pub(crate) fn front_mut(&mut self) -> Option<&mut Waiting> {
        self.packets.front_mut()
    }

    /// Drops the first segment of the packet that leaves next, if it stands for several; returns the bytes dropped.
    pub(crate) fn shorten_front(&mut self) -> Option<usize> {
        let first = &mut self.packets.front_mut()?.packet;
        let before = first.len();
        let dropped = first.drop_first_segment().then(|| before - first.len())?;
        self.bytes -= dropped;
        Some(dropped)
    }

    /// Returns the packet that leaves last.
    pub(crate) fn back(&self) -> Option<&Packet> {
        self.packets.back().map(|last| &last.packet)
    }

    /// Replaces the packet that leaves last by another one of its length.
    pub(crate) fn replace_back(&mut self, packet: Packet) {
        if let Some(last) = self.packets.back_mut() {
            self.storage += packet.capacity();
            let former = std::mem::replace(&mut last.packet, packet);
            self.storage -= former.capacity();
        }
    }

    /// Adds a packet behind the others.
    pub(crate) fn push_back(&mut self, now: Instant, packet: Packet) {
        self.insert(now, packet, self.packets.len());
    }

    /// Adds a packet before all others.
    pub(crate) fn push_front(&mut self, now: Instant, packet: Packet) {
        self.insert(now, packet, 0);
    }

    /// Adds a segment that is sent again before those of its connection with later data, and behind all others; returns
    /// a packet that may not overtake any.
    pub(crate) fn overtake(&mut self, now: Instant, packet: Packet) -> Result<(), Packet> {
        let Some(again) = Repetition::of(&packet) else {
            return Err(packet);
        };
        // They wait in the order of their data, and there may be thousands.
        let is_before = |waiting: &Waiting| !again.overtakes(&waiting.packet);
        let place = self.packets.partition_point(is_before);
        if place < self.packets.len() {
            self.clock = later(self.clock, again.clock);
        }
        self.insert(now, packet, place);
        Ok(())
    }

    fn insert(&mut self, since: Instant, packet: Packet, place: usize) {
        self.bytes += packet.len();
        self.storage += packet.capacity();
        let waiting = Waiting {
            since,
            packet,
            is_again: place < self.packets.len(),
        };
        self.packets.insert(place, waiting);
    }

    /// Removes and returns the packet that leaves next, with the clock of what has overtaken it, if that is later.
    pub(crate) fn dequeue(&mut self) -> Option<Packet> {
        let mut packet = self.packets.pop_front()?.packet;
        self.bytes -= packet.len();
        self.storage -= packet.capacity();
        self.clock.take_if(|clock| !packet.raise_timestamp(*clock));
        Some(packet)
    }
}
