//! Packets from the layer above, before they come to the queues.

use units::Instant;
use wire::flow::FlowKey;
use wire::packet::{Packet, PacketBuffer};

use super::{Arq, TIDY};
use crate::flow::{Admission, Lane};

impl Arq {
    /// Applies the drop or mark of a full queue to a packet for the plain lane, before the agent that repairs that
    /// lane keeps a copy: a loss here is congestion, and the sender must see it. Returns false if nothing of the
    /// packet is left, or if it only repeats data that wait.
    pub fn admit(&mut self, now: Instant, packet: &mut Packet, key: &FlowKey) -> bool {
        if !self.config.carries_repetitions && self.outbox.has(key, packet) {
            return false;
        }
        let admission = self.outbox.admit(now, packet, key);
        self.stats.sent.packets_dropped += u64::from(admission != Admission::Whole);
        admission != Admission::Dropped
    }

    /// Returns true if the data of a TCP packet wait to be delivered in their flow, whatever else the packet says.
    pub fn keeps(&self, key: &FlowKey, packet: &Packet) -> bool {
        self.outbox.keeps(key, packet)
    }

    pub(super) fn transport(&mut self, now: Instant, buffer: PacketBuffer) {
        if buffer.is_empty() || buffer.len() > self.transport_packet_max() {
            self.stats.sent.packets_dropped += 1;
            return;
        }
        self.stats.sent.bytes_brief += buffer.len() as u64;
        let (key, packet) = (Lane::Transport.common(), Packet::opaque(buffer));
        self.enqueue(now, packet, key, Lane::Transport);
    }

    /// Adds a packet to the queue of its flow, unless it only repeats what is held already.
    pub(super) fn enqueue(&mut self, now: Instant, packet: Packet, key: FlowKey, lane: Lane) {
        if self.config.carries_repetitions || !self.outbox.has(&key, &packet) {
            self.stats.sent.packets_dropped += self.outbox.enqueue(now, packet, key, lane);
        }
        self.pace.due.tidy.get_or_insert(now + TIDY);
    }
}
