//! The losses of the fixed host, and those that it answered by a smaller window.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use simulator::{LinkId, Loss, Moment, NodeId, Observer, Sighting};
use tcp::Endpoint;
use units::{Instant, SeqNumber};
use wire::TcpSegment;
use wire::tcp::{AirLoss, SeqRange, TcpFlags};

use super::interface::FIXED;
use super::node::TonNode;
use super::packet::Packet;

/// Packets with data of the fixed host that did not arrive and whose data were acknowledged later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    /// Packets that a full queue refused.
    pub(crate) refused: u64,
    /// Refused packets after which the window was not reduced since their data were first sent.
    pub(crate) hidden: u64,
    /// Hidden packets that an acknowledgement had reported as lost on the air.
    pub(crate) hidden_by_mark: u64,
    /// Refused packets that an acknowledgement had reported as lost on the air, although the air never lost the same
    /// data too.
    pub(crate) mistaken: u64,
    /// Packets lost on the air.
    pub(crate) corrupted: u64,
    /// Packets lost on the air for which the window was reduced although no data refused by a queue were missing.
    pub(crate) punished: u64,
    /// Packets lost on the air that no acknowledgement had reported.
    pub(crate) unmarked: u64,
}

/// A range of data in flight: sent, but not acknowledged.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    range: SeqRange,
    refused: u64,
    corrupted: u64,
    marked: bool,
    /// True if the window was reduced since these data were first sent.
    reduced: bool,
    /// True if it was reduced after the air had lost them, while no data refused by a queue were missing.
    punished: bool,
}

/// The fate of each segment; has the truth about losses, which no host knows.
#[derive(Debug, Default)]
struct LossTracker {
    /// In the order of their sequence numbers; at most a window.
    flying: VecDeque<InFlight>,
    tally: Tally,
}

impl LossTracker {
    /// Notes that the fixed host sends `range`, perhaps again.
    fn sent(&mut self, range: SeqRange) {
        let end = self.flying.back().map(|last| last.range.end);
        let start = end.map_or(range.start, |end| {
            if end > range.start { end } else { range.start }
        });
        if start < range.end {
            let end = range.end;
            self.flying.push_back(InFlight {
                range: SeqRange { start, end },
                refused: 0,
                corrupted: 0,
                marked: false,
                reduced: false,
                punished: false,
            });
        }
    }

    /// Notes that a packet with `range` does not arrive. It counts for the data that it begins with.
    fn lost(&mut self, range: SeqRange, loss: Loss) {
        let mut flying = self.flying.iter_mut();
        if let Some(data) = flying.find(|data| data.range.contains(range.start)) {
            match loss {
                Loss::QueueFull | Loss::TooLong => data.refused += 1,
                Loss::Air => data.corrupted += 1,
            }
        }
    }

    /// Notes that an acknowledgement reports losses on the air to the fixed host.
    fn told(&mut self, asked: SeqNumber, air_loss: &AirLoss) {
        for data in &mut self.flying {
            data.marked |= match air_loss {
                AirLoss::None => false,
                AirLoss::Next => data.range.contains(asked),
                AirLoss::Ranges(ranges) => {
                    let mut ranges = ranges.iter();
                    ranges.any(|range| range.contains(data.range.start))
                }
            };
        }
    }

    /// Notes that everything before `number` is acknowledged.
    fn acknowledged(&mut self, number: SeqNumber) {
        while let Some(data) = self.flying.front().copied() {
            if data.range.end > number {
                return;
            }
            self.flying.pop_front();
            self.count(&data);
        }
    }

    fn count(&mut self, data: &InFlight) {
        let only = |holds: bool, count: u64| if holds { count } else { 0 };
        let tally = &mut self.tally;
        tally.refused += data.refused;
        tally.hidden += only(!data.reduced, data.refused);
        tally.hidden_by_mark += only(!data.reduced && data.marked, data.refused);
        tally.mistaken += only(data.marked && data.corrupted == 0, data.refused);
        tally.corrupted += data.corrupted;
        tally.punished += only(data.punished, data.corrupted);
        tally.unmarked += only(!data.marked, data.corrupted);
    }

    /// Notes that the fixed host reduces its window, or times out.
    fn reduced(&mut self) {
        let congested = self.flying.iter().any(|data| data.refused > 0);
        for data in &mut self.flying {
            data.reduced = true;
            data.punished |= !congested && data.corrupted > 0;
        }
    }
}

/// State of a sender from which reductions of its window can be detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Standing {
    timeouts: u64,
    /// Number of recoveries that began with a reduction.
    recoveries: u64,
    threshold: Option<u64>,
    window: u64,
}

impl Standing {
    fn of(endpoint: &Endpoint) -> Self {
        let recovered = endpoint.counters().recovered;
        Self {
            timeouts: recovered.timeouts,
            recoveries: recovered.fast_retransmissions - recovered.without_reduction,
            threshold: endpoint.slow_start_threshold(),
            window: endpoint.congestion_window(),
        }
    }

    /// Returns true if the window was reduced since `before`. A recovery that began without a reduction may bring one
    /// later, which shows in the threshold, or, if that does not change, in a window that falls to it.
    fn reduced_since(&self, before: &Self) -> bool {
        let fell = self.window < before.window && self.threshold == Some(self.window);
        let counted =
            |standing: &Self| (standing.timeouts, standing.recoveries, standing.threshold);
        fell || counted(self) != counted(before)
    }
}

/// An observer of the fixed host's losses.
#[derive(Debug)]
pub(crate) struct Losses {
    source: NodeId,
    /// Link of the fixed host.
    first: LinkId,
    /// All links that carry its segments, and no others between the same addresses.
    links: Vec<LinkId>,
    fates: LossTracker,
    standing: Standing,
}

impl Losses {
    /// Creates an observer of the segments of `source`, whose link is `first`, over `links`.
    pub(crate) fn new(source: NodeId, first: LinkId, links: Vec<LinkId>) -> Self {
        Self {
            source,
            first,
            links,
            fates: LossTracker::default(),
            standing: Standing::default(),
        }
    }

    /// Returns the counters of losses whose data were acknowledged.
    pub(crate) fn tally(&self) -> Tally {
        self.fates.tally
    }

    fn data(&mut self, sighting: Sighting, segment: &TcpSegment) {
        let range = segment.payload_range();
        match sighting.moment {
            Moment::Sent if sighting.link == self.first => self.fates.sent(range),
            Moment::Lost(loss) if self.links.contains(&sighting.link) => {
                self.fates.lost(range, loss);
            }
            Moment::Sent | Moment::Delivered | Moment::Lost(_) => {}
        }
    }
}

impl Observer<TonNode> for Losses {
    fn packet(&mut self, sighting: Sighting, packet: &Packet) -> ControlFlow<()> {
        let Packet::Segment { segment, .. } = packet else {
            return ControlFlow::Continue(());
        };
        let arrives = sighting.link == self.first && sighting.moment == Moment::Delivered;
        if segment.source == FIXED && segment.payload > 0 {
            self.data(sighting, segment);
        } else if segment.destination == FIXED && arrives && segment.flags.contains(TcpFlags::ACK) {
            let told = &segment.options.air_loss;
            self.fates.told(segment.acknowledgment, told);
        }
        ControlFlow::Continue(())
    }

    fn acted(&mut self, _now: Instant, id: NodeId, node: &TonNode) -> ControlFlow<()> {
        if let (true, TonNode::Source(source)) = (id == self.source, node) {
            let endpoint = source.endpoint();
            let first = endpoint.connection().initial_sequence + 1;
            let number = first + endpoint.acknowledged_bytes() as u32;
            // Data that an acknowledgement covers were repaired before the reduction that it causes.
            self.fates.acknowledged(number);
            let standing = Standing::of(endpoint);
            if standing.reduced_since(&self.standing) {
                self.fates.reduced();
            }
            self.standing = standing;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
