//! The admission of packets to the queues.

use units::Instant;
use wire::flow::FlowKey;
use wire::packet::Packet;

use super::Outbox;
use crate::QueueOrder;
use crate::flow::{Admission, COMMON_FLOW, Flow, Lane};
use crate::limits::PACKET;

impl Outbox {
    /// Returns true if a packet only repeats data that still wait to be delivered, and counts it then.
    pub(crate) fn has(&mut self, key: &FlowKey, packet: &Packet) -> bool {
        let known = self.table.find(key).and_then(|slot| self.table.get(slot));
        let has = known.is_some_and(|flow| flow.has(packet));
        self.counts.held_already += u64::from(has);
        has
    }

    /// Adds a packet to the queue of its flow; returns the number of packets dropped because that queue was full.
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        packet: Packet,
        key: FlowKey,
        lane: Lane,
    ) -> u64 {
        while !self.has_room_for(&packet) {
            self.counts.capped += 1;
            if !self.push_out(&key) {
                return 0;
            }
        }
        let slot = self.slot(now, key, lane);
        let bytes = self.flow_limit();
        let (queued, order) = (&mut self.queued, &mut self.order);
        let dropped = self.table.change(slot, |flow| {
            let before = flow.queued();
            let dropped = if lane == Lane::Plain(QueueOrder::First) {
                flow.enqueue_ahead(now, packet, bytes)
            } else {
                flow.enqueue(now, packet, bytes)
            };
            *queued = *queued + flow.queued() - before;
            order.activate(slot, &mut flow.place);
            dropped
        });
        let waiting = |slot: usize| self.table.get(slot).map_or(0, Flow::queued);
        if waiting(slot) > waiting(self.longest) {
            self.longest = slot;
        }
        dropped.unwrap_or_default()
    }

    /// Returns true if the data of `packet` wait to be delivered.
    pub(crate) fn keeps(&self, key: &FlowKey, packet: &Packet) -> bool {
        let flow = self.table.find(key).and_then(|slot| self.table.get(slot));
        flow.is_some_and(|flow| !flow.is_idle() && flow.keeps(packet))
    }

    /// Makes the flow of this key a guest, or that of the packets that have no flow of their own.
    pub(crate) fn make_guest(&mut self, key: &FlowKey) {
        let common = [Lane::Held, Lane::Brief, Lane::Plain(QueueOrder::Last)].map(Lane::common);
        let keys = match *key {
            COMMON_FLOW => &common[..],
            _ => std::slice::from_ref(key),
        };
        for key in keys {
            let (table, order) = (&mut self.table, &mut self.order);
            if let Some(slot) = table.find(key)
                && let Some(flow) = table.get_mut(slot)
                && order.make_guest(slot, &mut flow.place)
                && flow.has_work(true)
            {
                order.activate(slot, &mut flow.place);
            }
        }
    }

    /// Drops a packet of the flow with the longest queue, so that a short one need not suffer; returns false if the
    /// flow of `key` has one as long itself.
    fn push_out(&mut self, key: &FlowKey) -> bool {
        let waiting = |slot: usize| self.table.get(slot).map_or(0, Flow::queued);
        let own = self.table.find(key).map_or(0, waiting);
        if waiting(self.longest) <= own {
            return false;
        }
        let dropped = self.table.change(self.longest, Flow::drop_oldest);
        self.queued -= dropped.unwrap_or(0);
        dropped.is_some_and(|length| length > 0)
    }

    /// Returns the bytes of one flow beyond which its sender gets a congestion signal: before the memory for all is
    /// used up, where whole packets of it are dropped one after the other.
    fn flow_limit(&self) -> usize {
        self.limits.bytes.min(self.shares.outgoing / 3)
    }

    /// Tells the sender of a flow that has its turn if its queue is too long, or stands; returns the number of packets
    /// dropped for that.
    pub(super) fn signal_congestion(&mut self, now: Instant, slot: usize, may_extend: bool) -> u64 {
        let (limit, limits) = (self.flow_limit(), self.limits);
        let is_long = |flow: &Flow| may_extend && flow.queued() > limit;
        let mut dropped = 0;
        if self.table.get(slot).is_some_and(is_long) {
            let queued = &mut self.queued;
            let signal = |flow: &mut Flow| {
                let before = flow.queued();
                dropped = flow.signal_excess(now, limits.interval);
                *queued -= before - flow.queued();
            };
            self.table.change(slot, signal);
        }
        if let Some(flow) = self.table.get_mut(slot) {
            self.counts.marked += flow.mark_standing(now, limits.standing);
        }
        dropped
    }

    fn has_room_for(&self, packet: &Packet) -> bool {
        let cost = packet.capacity() + PACKET + size_of::<Flow>();
        self.queued + packet.len() <= self.shares.queue
            && self.memory() + cost <= self.shares.outgoing
    }

    /// Applies the signal of a full queue to a packet for the plain lane, before it comes to the queue of its
    /// flow.
    pub(crate) fn admit(&mut self, now: Instant, packet: &mut Packet, key: &FlowKey) -> Admission {
        let (slot, bytes) = (self.table.find(key), self.flow_limit());
        match slot.and_then(|slot| self.table.get_mut(slot)) {
            Some(flow) => flow.admit(now, packet, bytes, self.limits.interval),
            None => Admission::Whole,
        }
    }

    /// Returns the slot of the flow of `key`, or that of the common flow if there are too many flows.
    fn slot(&mut self, now: Instant, key: FlowKey, lane: Lane) -> usize {
        if let Some(slot) = self.table.find(&key) {
            return slot;
        }
        if key != COMMON_FLOW && self.table.len() < self.shares.flows {
            return self.table.begin(now, key, lane);
        }
        self.counts.in_common += 1;
        let known = self.table.find(&lane.common());
        known.unwrap_or_else(|| self.table.begin(now, lane.common(), lane))
    }
}
