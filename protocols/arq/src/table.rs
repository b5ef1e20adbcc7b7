//! The flows of one end, by slot and by key.

use std::collections::BTreeMap;

use units::Instant;
use wire::flow::FlowKey;

use crate::flow::{Flow, Lane};
use crate::inbox::STREAMS_MAX;
use crate::limits::NODE;

/// The flows from this end. A flow keeps its slot as long as it is there; then the slot is used again.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    flows: Vec<Option<Flow>>,
    free: Vec<usize>,
    slots: BTreeMap<FlowKey, usize>,
    next_stream: u64,
    /// Streams that the other end may have, also those whose end is on its way.
    streams: usize,
    /// What the flows hold beside their slots, in bytes.
    held: usize,
}

impl FlowTable {
    /// How many flows take packets.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Every slot, whether a flow has it or not.
    pub(crate) fn slots(&self) -> std::ops::Range<usize> {
        0..self.flows.len()
    }

    /// Bytes that they hold.
    pub(crate) fn memory(&self) -> usize {
        let slots = self.flows.capacity() * size_of::<Option<Flow>>();
        let free = self.free.capacity() * size_of::<usize>();
        self.held + slots + free + self.slots.len() * (size_of::<(FlowKey, usize)>() + NODE)
    }

    pub(crate) fn get(&self, slot: usize) -> Option<&Flow> {
        self.flows.get(slot)?.as_ref()
    }

    /// For changes that leave alone what the flow holds.
    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut Flow> {
        self.flows.get_mut(slot)?.as_mut()
    }

    /// Changes a flow and what it holds.
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

    /// The slot of the flow that takes packets of `key`.
    pub(crate) fn find(&self, key: &FlowKey) -> Option<usize> {
        self.slots.get(key).copied()
    }

    /// Begins a flow; returns its slot.
    pub(crate) fn begin(&mut self, now: Instant, key: FlowKey, lane: Lane) -> usize {
        // Beyond the limit of streams a flow goes without order, which costs speed, not packets.
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

    /// A flow takes no more packets: the next of its key begin a new one.
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
