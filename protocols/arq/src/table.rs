//! The flows of one end, by slot and by key.

use std::collections::BTreeMap;

use units::Instant;
use wire::flow::FlowKey;

use crate::flow::{Flow, Lane};
use crate::inbox::STREAMS_MAX;
use crate::limits::NODE;

/// The flows from this end. A flow keeps its slot while it exists; then the slot is reused.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    flows: Vec<Option<Flow>>,
    free: Vec<usize>,
    slots: BTreeMap<FlowKey, usize>,
    next_stream: u64,
    /// Number of streams that the other end may have, also those whose end is in flight.
    streams: usize,
    /// Bytes of memory that the flows hold beside their slots.
    held: usize,
}

impl FlowTable {
    /// Returns the number of flows that take packets.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns all slots, in use or not.
    pub(crate) fn slots(&self) -> std::ops::Range<usize> {
        0..self.flows.len()
    }

    /// Returns the bytes of memory that they hold.
    pub(crate) fn memory(&self) -> usize {
        let slots = self.flows.capacity() * size_of::<Option<Flow>>();
        let free = self.free.capacity() * size_of::<usize>();
        self.held + slots + free + self.slots.len() * (size_of::<(FlowKey, usize)>() + NODE)
    }

    pub(crate) fn get(&self, slot: usize) -> Option<&Flow> {
        self.flows.get(slot)?.as_ref()
    }

    /// Returns a flow for changes that do not affect its memory.
    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut Flow> {
        self.flows.get_mut(slot)?.as_mut()
    }

    /// Changes a flow, and updates the memory that is counted for it.
    pub(crate) fn change<T>(
        &mut self,
        slot: usize,
        change: impl FnOnce(&mut Flow) -> T,
    ) -> Option<T> {
        let flow = self.flows.get_mut(slot)?.as_mut()?;
        let before = flow.memory();
        let changed = change(flow);
        self.held = self.held + flow.memory() - before;
        Some(changed)
    }

    /// Returns the slot of the flow that takes packets of `key`.
    pub(crate) fn find(&self, key: &FlowKey) -> Option<usize> {
        self.slots.get(key).copied()
    }

    /// Begins a flow; returns its slot.
    pub(crate) fn begin(&mut self, now: Instant, key: FlowKey, lane: Lane) -> usize {
        // Beyond the limit of streams a flow has no order, which costs speed, not packets.
        let held = lane == Lane::Held && self.streams < STREAMS_MAX;
        let stream = held.then_some(self.next_stream);
        self.next_stream += u64::from(held);
        self.streams += usize::from(held);
        let flow = Flow::new(key, lane, stream, now);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flows.push(None);
            self.flows.len() - 1
        });
        self.held += flow.memory();
        self.flows[slot] = Some(flow);
        self.slots.insert(key, slot);
        slot
    }

    /// Closes a flow to new packets: the next one with its key begins a new flow.
    pub(crate) fn close(&mut self, key: &FlowKey) {
        self.slots.remove(key);
    }

    /// Forgets a flow.
    pub(crate) fn remove(&mut self, slot: usize) -> Option<Flow> {
        let flow = self.flows.get_mut(slot)?.take()?;
        self.held -= flow.memory();
        self.streams -= usize::from(flow.stream.is_some());
        if self.slots.get(&flow.key) == Some(&slot) {
            self.slots.remove(&flow.key);
        }
        self.free.push(slot);
        Some(flow)
    }
}
