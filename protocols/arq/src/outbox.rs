//! The sending side of one end: flows, their turns, and retransmissions.

mod admission;
mod withdraw;
mod write;

use std::ops::Range;

use units::{Duration, Instant};
use wire::hop::FrameWriter;

use crate::Config;
use crate::brief::BriefSender;
use crate::fair::{FairOrder, Place};
use crate::flow::{Ending, Flow, Lane};
use crate::inbox::HELD_MAX;
use crate::ledger::{Content, Ledger};
use crate::limits::{QueueLimits, Shares};
use crate::stats::SentStats;
use crate::stream::StreamSender;
use crate::table::FlowTable;
use crate::watch::{EarlyRepairs, Pattern};

/// Time without packets after which a flow ends.
const IDLE: Duration = Duration::from_secs(60);
/// Bytes of room below which a chunk is not worth its header.
const ROOM_MIN: usize = 24;
/// Time without packets after which a flow without a stream ends, while there are many flows.
const IDLE_IN_A_CROWD: Duration = Duration::from_secs(5);
/// Bytes of memory that an idle flow may keep.
const RESTING: usize = 4_096;
/// Largest content in bytes that is retransmitted until it is confirmed.
const SMALL: u64 = 600;

/// State of the sending side of one end.
#[derive(Debug)]
pub(crate) struct Outbox {
    table: FlowTable,
    order: FairOrder,
    brief: BriefSender,
    /// Bytes over all held flows between the first unconfirmed byte and the highest sent.
    span: u64,
    queued: usize,
    watch: EarlyRepairs,
    limits: QueueLimits,
    shares: Shares,
    counts: Counts,
    /// Slot of the flow with the longest queue, as far as recent packets show.
    longest: usize,
    /// True if flows with packets have left the order because there was no room for them.
    held_back: bool,
    /// True if new data goes before data that is only presumed lost.
    pub(crate) fresh_first: bool,
}

/// Counters of packets from the layer above.
#[derive(Debug, Default)]
struct Counts {
    /// Packets dropped at the limit on memory or on all queues.
    capped: u64,
    /// Packets that had no flow of their own.
    in_common: u64,
    /// Packets that were marked.
    marked: u64,
    /// Packets that repeated data which still wait to be delivered.
    held_already: u64,
}

impl Outbox {
    pub(crate) fn new(config: &Config, shares: Shares) -> Self {
        Self {
            table: FlowTable::default(),
            order: FairOrder::default(),
            brief: BriefSender::new(config.tries),
            span: 0,
            queued: 0,
            watch: EarlyRepairs::default(),
            limits: QueueLimits::UNKNOWN,
            shares,
            counts: Counts::default(),
            longest: 0,
            held_back: false,
            fresh_first: false,
        }
    }

    /// Sets the limits on the queue of each flow.
    pub(crate) fn set_limits(&mut self, limits: QueueLimits) {
        self.limits = limits;
    }

    /// Sets the shares of memory.
    pub(crate) fn set_shares(&mut self, shares: Shares) {
        self.shares = shares;
    }

    /// Returns the number of brief packets that are not confirmed.
    pub(crate) fn brief(&self) -> usize {
        self.brief.len()
    }

    /// Returns the bytes of the packets that wait.
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// Returns the bytes of those that are packets of the split transport.
    pub(crate) fn transport_queued(&self) -> usize {
        let slot = self.table.find(&Lane::Transport.common());
        let flow = slot.and_then(|slot| self.table.get(slot));
        flow.map_or(0, Flow::queued)
    }

    /// Returns the number of flows.
    pub(crate) fn flows(&self) -> usize {
        self.table.len()
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        self.table.memory() + self.brief.memory() + self.order.memory() + self.watch.memory()
    }

    /// Returns the number of packets for which there was no room, see [`Config::memory`] and [`Config::queue`].
    pub(crate) fn capped(&self) -> u64 {
        self.counts.capped
    }

    /// Returns the number of packets that had no flow of their own.
    pub(crate) fn in_common(&self) -> u64 {
        self.counts.in_common
    }

    /// Returns the number of packets that repeated data which still wait to be delivered.
    pub(crate) fn held_already(&self) -> u64 {
        self.counts.held_already
    }

    /// Returns the number of packets marked because their flow's queue stood.
    pub(crate) fn marked(&self) -> u64 {
        self.counts.marked
    }

    /// Returns true if there is memory for the records of new ranges.
    fn may_extend(&self) -> bool {
        self.span < HELD_MAX && self.memory() < self.shares.noted
    }

    /// Returns true if there is something to send.
    pub(crate) fn has_work(&self) -> bool {
        self.brief.has_work() || !self.order.is_empty()
    }

    /// Returns the time when a sparse packet is repeated.
    pub(crate) fn next_repeat(&self, pattern: impl FnOnce() -> Pattern) -> Option<Instant> {
        // A dense flow has none, and a pattern takes divisions.
        if self.watch.is_empty() {
            return None;
        }
        self.watch.next_due(pattern())
    }

    /// Repeats sparse packets that are due and not confirmed yet.
    pub(crate) fn repeat_due(&mut self, now: Instant, pattern: Pattern) {
        let mut watch = std::mem::take(&mut self.watch);
        watch.due(now, pattern, |content| self.repeat(now, content));
        self.watch = watch;
    }

    /// Drops a packet of the split transport: the path MTU shrank after it was made, and its sender retransmits the
    /// data.
    fn drop_too_long(&mut self, slot: usize) {
        self.queued -= self.table.change(slot, Flow::drop_oldest).unwrap_or(0);
    }

    /// Queues `content` again without waiting for an acknowledgement; returns false if it is confirmed or given up.
    fn repeat(&mut self, now: Instant, content: &Content) -> bool {
        match content {
            Content::Transport(_) | Content::Padding => false,
            Content::Brief { packet, range, .. } => self.brief.repeat(now, *packet, range),
            Content::Stream {
                slot, flow, range, ..
            } => {
                let waits = self
                    .flow_of(*slot, *flow)
                    .and_then(|flow| flow.stream.as_ref())
                    .is_some_and(|stream| !stream.has_confirmed(range));
                if waits {
                    self.lose(now, content, false);
                }
                waits
            }
        }
    }

    /// Fills `frame` in the order of the flows' turns; records the contents in `ledger` and returns their number.
    /// `pattern` sets when sparse packets are repeated.
    pub(crate) fn fill(
        &mut self,
        now: Instant,
        frame: &mut FrameWriter,
        ledger: &mut Ledger,
        pattern: Pattern,
        stats: &mut SentStats,
    ) -> usize {
        let mut contents = 0;
        while let Some(content) = self.fill_brief(frame) {
            contents += 1;
            ledger.carry(content);
        }
        while frame.brief_room() >= ROOM_MIN {
            let may_extend = self.may_extend();
            let Some((slot, place)) = self.turn(may_extend) else {
                break;
            };
            let Some(flow) = self.table.get_mut(slot) else {
                break;
            };
            if flow.is_better_whole(frame) {
                if flow.is_transport() && frame.is_empty() {
                    self.drop_too_long(slot);
                    stats.packets_dropped += 1;
                    continue;
                }
                break;
            }
            stats.packets_dropped += self.signal_congestion(now, slot, may_extend);
            let before = self.queued;
            let written = self.write(now, slot, frame, may_extend, stats);
            let dequeued = before - self.queued;
            let (Some(content), Some(flow)) = (written, self.table.get_mut(slot)) else {
                break;
            };
            // A brief packet pays for all its fragments at once.
            let bytes = match &content {
                Content::Stream { range, .. } => (range.end - range.start) as usize,
                Content::Brief { .. } | Content::Transport(_) | Content::Padding => dequeued,
            };
            self.order.charge(&mut flow.place, bytes + 8);
            let again = matches!(content, Content::Stream { again: true, .. });
            if flow.is_worth_repeating(now, &place, pattern.young, again) {
                let persistent = content.len() <= SMALL && !again;
                self.watch.add(now, content.clone(), pattern, persistent);
            }
            ledger.carry(content);
            contents += 1;
        }
        contents
    }

    /// Returns the flow whose turn it is, of those with something that may be sent.
    fn turn(&mut self, may_extend: bool) -> Option<(usize, Place)> {
        loop {
            let table = &self.table;
            let place = |slot: usize| {
                let flow = table.get(slot);
                flow.map(|flow| flow.place.clone()).unwrap_or_default()
            };
            let (slot, place) = self.order.current(place)?;
            let flow = self.table.get_mut(slot)?;
            let waits_for_room = flow.stream.is_none() && self.brief.len() >= self.shares.brief;
            if flow.has_work(may_extend) && !waits_for_room {
                return Some((slot, place));
            }
            self.held_back |= flow.has_work(true);
            self.order.rest(&mut flow.place);
        }
    }

    fn fill_brief(&mut self, frame: &mut FrameWriter) -> Option<Content> {
        let room = frame.brief_room();
        if room < ROOM_MIN {
            return None;
        }
        let fragment = self.brief.next_fragment(room)?;
        let (start, end) = (fragment.range.start, fragment.range.end);
        let ends = (fragment.last, fragment.repaired);
        let brief = &mut self.brief;
        frame.brief(
            (fragment.packet, start as u16),
            ((end - start) as usize, ends.0, ends.1),
            |out| {
                brief.send(&fragment, out);
            },
        );
        Some(Content::Brief {
            packet: fragment.packet,
            range: start..end,
            attempt: fragment.attempt,
            again: fragment.again,
        })
    }

    /// Records that the other end has `content`; returns the number of bytes newly confirmed.
    pub(crate) fn confirm(&mut self, content: &Content) -> u64 {
        match content {
            Content::Transport(length) => u64::from(*length),
            Content::Padding => 0,
            Content::Brief { packet, range, .. } => self.brief.confirm(*packet, range.clone()),
            Content::Stream {
                slot,
                flow: number,
                range,
                end,
                ..
            } => {
                if self.flow_of(*slot, *number).is_none() {
                    return 0;
                }
                let change = |flow: &mut Flow| {
                    let Some(stream) = &mut flow.stream else {
                        return (0, 0);
                    };
                    let before = stream.span();
                    let news = stream.confirm(range.clone());
                    (news, before - stream.span())
                };
                let (news, freed) = self.table.change(*slot, change).unwrap_or_default();
                self.span -= freed;
                if *end {
                    self.remove(*slot);
                } else if let Some(flow) = self.table.get_mut(*slot)
                    && flow.has_work(true)
                {
                    self.order.activate(*slot, &mut flow.place);
                }
                news
            }
        }
    }

    /// Repairs `content` that was lost, and not by a fade. A second loss has made its flow wait for two round trips,
    /// so it gets two more chances: a third loss would look like a broken path to TCP (RFC 6298 §5).
    pub(crate) fn lose_alone(&mut self, now: Instant, content: &Content, pattern: Pattern) {
        self.lose(now, content, false);
        if matches!(content, Content::Stream { again: true, .. }) {
            self.watch.add(now, content.clone(), pattern, false);
        }
    }

    /// Repairs `content`, which did not arrive.
    pub(crate) fn lose(&mut self, now: Instant, content: &Content, in_fade: bool) {
        self.repair(now, content, in_fade, StreamSender::lose);
    }

    /// Repairs `content`, which is presumed lost.
    pub(crate) fn doubt(&mut self, now: Instant, content: &Content) {
        self.repair(now, content, true, StreamSender::doubt);
    }

    fn repair(
        &mut self,
        now: Instant,
        content: &Content,
        in_fade: bool,
        repair: fn(&mut StreamSender, Range<u64>),
    ) {
        match content {
            Content::Transport(_) | Content::Padding => {}
            Content::Brief {
                packet,
                range,
                attempt,
                ..
            } => {
                let counts = !in_fade || self.brief.counts_fades();
                let failed = counts.then_some(*attempt);
                self.brief.lose(now, *packet, range.clone(), failed);
            }
            Content::Stream {
                slot,
                flow: number,
                range,
                end,
                ..
            } => {
                if self.flow_of(*slot, *number).is_none() {
                    return;
                }
                let order = &mut self.order;
                self.table.change(*slot, |flow| {
                    if *end {
                        flow.ending = Some(Ending::Due);
                    }
                    if let Some(stream) = &mut flow.stream {
                        repair(stream, range.clone());
                    }
                    if flow.has_work(false) {
                        order.activate(*slot, &mut flow.place);
                    }
                });
            }
        }
    }

    /// Repairs `content`, which was presumed lost and was lost.
    pub(crate) fn lose_doubted(&mut self, content: &Content) {
        let Content::Stream {
            slot, flow, range, ..
        } = content
        else {
            return;
        };
        if self.flow_of(*slot, *flow).is_some() {
            self.table.change(*slot, |flow| {
                if let Some(stream) = &mut flow.stream {
                    stream.lose_doubted(range);
                }
            });
        }
    }

    /// Lists the flows again that had to wait for room, once there is some.
    pub(crate) fn resume(&mut self) {
        let room = self.may_extend() || self.brief.len() < self.shares.brief;
        if !self.held_back || !room {
            return;
        }
        self.held_back = false;
        for slot in self.table.slots() {
            let flow = self.table.get_mut(slot);
            if let Some(flow) = flow.filter(|flow| flow.has_work(true)) {
                self.order.activate(slot, &mut flow.place);
            }
        }
    }

    fn flow_of(&self, slot: usize, number: u64) -> Option<&Flow> {
        let flow = self.table.get(slot)?;
        flow.stream
            .as_ref()
            .is_some_and(|stream| stream.number == number)
            .then_some(flow)
    }

    /// Ends flows that have been idle for long.
    pub(crate) fn end_idle(&mut self, now: Instant) {
        let is_crowded = self.table.len() > self.shares.flows / 2;
        for slot in self.table.slots() {
            let Some(flow) = self.table.get_mut(slot) else {
                continue;
            };
            if flow.ending.is_some() || !flow.is_idle() {
                continue;
            }
            let is_stream = flow.stream.is_some();
            let idle = if is_crowded && !is_stream {
                IDLE_IN_A_CROWD
            } else {
                IDLE
            };
            if now.since(flow.last_active) < idle {
                if flow.memory() > RESTING {
                    self.table.change(slot, Flow::shrink);
                }
                continue;
            }
            let key = flow.key;
            if is_stream {
                flow.ending = Some(Ending::Due);
                self.order.activate(slot, &mut flow.place);
                self.table.close(&key);
            } else {
                self.remove(slot);
            }
        }
    }

    fn remove(&mut self, slot: usize) {
        if let Some(flow) = self.table.remove(slot) {
            self.order.forget(slot, &flow.place);
        }
    }

    /// Returns the number of brief packets given up.
    pub(crate) fn abandoned(&self) -> u64 {
        self.brief.abandoned
    }
}
