//! Counters of nodes and flows.
//!
//! Links have their own counters: [`Simulation::link_counters`](crate::Simulation::link_counters).

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use channel::{Amount, Direction};
use units::Instant;

use crate::line::LinkId;
use crate::node::Node;
use crate::observer::{Loss, Moment, Observer, Sighting};
use crate::packet::Packet;

/// Counters of a node over all of its ports, in packets and in bytes without framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeCounters {
    /// Packets handed to links.
    pub sent: Amount,
    /// Packets that arrived.
    pub received: Amount,
    /// Packets that arrived with an error, on lines that report them.
    pub corrupted: Amount,
}

/// Counters of one flow in one direction of one link, in packets and in bytes without framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowCount {
    /// Packets handed to the link.
    pub sent: Amount,
    /// Packets that arrived at its other end.
    pub delivered: Amount,
    /// Packets dropped by a full queue.
    pub lost_queue: Amount,
    /// Packets lost because they were longer than the MTU of the link.
    pub lost_too_long: Amount,
    /// Packets lost on the air.
    pub lost_air: Amount,
    /// Time at which its last packet arrived.
    pub last_delivery: Option<Instant>,
}

/// An observer that counts each flow on each link separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowCounters<F> {
    counts: BTreeMap<(F, LinkId, Direction), FlowCount>,
}

impl<F> Default for FlowCounters<F> {
    fn default() -> Self {
        Self {
            counts: BTreeMap::new(),
        }
    }
}

impl<F: Copy + Ord> FlowCounters<F> {
    /// Returns the counters of `flow` in `direction` of `link`.
    pub fn of(&self, flow: F, link: LinkId, direction: Direction) -> FlowCount {
        let found = self.counts.get(&(flow, link, direction));
        found.copied().unwrap_or_default()
    }

    /// Returns all counters, ordered by flow, link and direction.
    pub fn iter(&self) -> impl Iterator<Item = (F, LinkId, Direction, FlowCount)> {
        let all = self.counts.iter();
        all.map(|((flow, link, direction), count)| (*flow, *link, *direction, *count))
    }
}

impl<N: Node> Observer<N> for FlowCounters<<N::Packet as Packet>::Flow> {
    fn packet(&mut self, sighting: Sighting, packet: &N::Packet) -> ControlFlow<()> {
        let key = (packet.flow(), sighting.link, sighting.direction);
        let count = self.counts.entry(key).or_default();
        let amount = match sighting.moment {
            Moment::Sent => &mut count.sent,
            Moment::Delivered => {
                count.last_delivery = Some(sighting.at);
                &mut count.delivered
            }
            Moment::Lost(Loss::QueueFull) => &mut count.lost_queue,
            Moment::Lost(Loss::TooLong) => &mut count.lost_too_long,
            Moment::Lost(Loss::Air) => &mut count.lost_air,
        };
        amount.add(packet.length());
        ControlFlow::Continue(())
    }
}
