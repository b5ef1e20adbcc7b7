//! Everything that this end has to send: flows, their turns, and what is due again.

use std::collections::BTreeMap;

use units::{BitRate, Duration, Instant};
use wire::flow::FlowKey;
use wire::hop::FrameWriter;
use wire::packet::Packet;

use crate::brief::{BriefSender, Tries};
use crate::fair::FairOrder;
use crate::flow::{Admission, Ending, Flow, Lane};
use crate::inbox::{HELD_MAX, STREAMS_MAX};
use crate::ledger::{Content, Ledger};
use crate::stats::SentStats;
use crate::watch::{Pattern, Watch};

/// A flow that has said nothing for so long ends.
const IDLE: Duration = Duration::from_secs(60);
/// Room below which a chunk is not worth its fields.
const ROOM_MIN: usize = 24;
/// Packets that wait, over all flows.
const QUEUED_MAX: usize = 16 << 20;
/// Brief packets on their way; beyond it the flows that send them wait.
const BRIEF_MAX: usize = 4_096;
/// The largest content that is sent again until it is confirmed.
const SMALL: u64 = 600;

/// What there is to send.
#[derive(Debug)]
pub(crate) struct Outbox {
    flows: Vec<Option<Flow>>,
    free: Vec<usize>,
    slots: BTreeMap<FlowKey, usize>,
    order: FairOrder,
    brief: BriefSender,
    next_stream: u64,
    /// Streams that the other end may have, also those whose end is on its way.
    streams: usize,
    /// Bytes over all held flows between the first unconfirmed one and the highest sent.
    span: u64,
    queued: usize,
    watch: Watch,
    limits: QueueLimits,
    /// Flows with packets have left the order because there was no room for what they send.
    held_back: bool,
}

/// How much a flow may queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    /// Bytes that wait in one flow before its sender is told.
    pub(crate) bytes: usize,
    /// How long the sender takes to react.
    pub(crate) interval: Duration,
}

impl QueueLimits {
    /// Before the rate of the hop is known.
    const UNKNOWN: Self = Self {
        bytes: 4 << 20,
        interval: Duration::from_millis(300),
    };

    /// A bulk flow may queue as much as its own round trip with one repair and a second one to
    /// spare, so that a sender that halves its window still keeps the hop busy.
    pub(crate) fn new(rate: BitRate, round_trip: Duration) -> Self {
        let time = (round_trip * 3).max(Duration::from_millis(200));
        let bytes = rate.bytes_in(time).get().clamp(48 << 10, 12 << 20) as usize;
        Self {
            bytes,
            interval: time,
        }
    }
}

impl Outbox {
    pub(crate) fn new(tries: Tries) -> Self {
        Self {
            flows: Vec::new(),
            free: Vec::new(),
            slots: BTreeMap::new(),
            order: FairOrder::default(),
            brief: BriefSender::new(tries),
            next_stream: 0,
            streams: 0,
            span: 0,
            queued: 0,
            watch: Watch::default(),
            limits: QueueLimits::UNKNOWN,
            held_back: false,
        }
    }

    /// Sets how much each flow may queue from now on.
    pub(crate) fn set_limits(&mut self, limits: QueueLimits) {
        self.limits = limits;
    }

    /// Bytes of the packets that wait.
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// How many flows there are.
    pub(crate) fn flows(&self) -> usize {
        self.slots.len()
    }

    /// Takes in a packet; returns how many packets were dropped for it.
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        packet: Packet,
        key: FlowKey,
        lane: Lane,
    ) -> u64 {
        if self.queued + packet.buffer.len() > QUEUED_MAX {
            return 1;
        }
        let slot = self.slot(now, key, lane);
        let Some(flow) = &mut self.flows[slot] else {
            return 1;
        };
        let before = flow.queued();
        let dropped = if lane == (Lane::Plain { ahead: true }) {
            flow.enqueue_ahead(now, packet, self.limits.bytes)
        } else {
            flow.enqueue(now, packet, self.limits.bytes, self.limits.interval)
        };
        self.queued = self.queued + flow.queued() - before;
        self.order.activate(slot, &mut flow.place);
        dropped
    }

    /// What is left of a packet for the plain lane before it comes to the queue of its flow.
    pub(crate) fn admit(&mut self, now: Instant, packet: &mut Packet, key: &FlowKey) -> Admission {
        let slot = self.slots.get(key).copied();
        match slot.and_then(|slot| self.flows[slot].as_mut()) {
            Some(flow) => flow.admit(now, packet, self.limits.bytes, self.limits.interval),
            None => Admission::Whole,
        }
    }

    fn slot(&mut self, now: Instant, key: FlowKey, lane: Lane) -> usize {
        if let Some(slot) = self.slots.get(&key) {
            return *slot;
        }
        // Beyond the limit of streams a flow goes without order, which costs speed, not packets.
        let held = lane == Lane::Held && self.streams < STREAMS_MAX;
        let stream = held.then_some(self.next_stream);
        self.next_stream += u64::from(held);
        self.streams += usize::from(held);
        let flow = Flow::new(key, stream, now).repaired(!matches!(lane, Lane::Plain { .. }));
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flows.push(None);
            self.flows.len() - 1
        });
        self.flows[slot] = Some(flow);
        self.slots.insert(key, slot);
        slot
    }

    /// Whether there is something to send.
    pub(crate) fn has_work(&self) -> bool {
        self.brief.has_work() || !self.order.is_empty()
    }

    /// When a sparse packet is to be repeated.
    pub(crate) fn next_repeat(&self, pattern: Pattern) -> Option<Instant> {
        self.watch.next_due(pattern)
    }

    /// Repeats what is due of sparse packets and not confirmed yet.
    pub(crate) fn repeat_due(&mut self, now: Instant, pattern: Pattern) {
        let mut watch = std::mem::take(&mut self.watch);
        watch.due(now, pattern, |content| self.repeat(now, content));
        self.watch = watch;
    }

    /// Sends `content` again without news of it; false if nobody waits for it any more.
    fn repeat(&mut self, now: Instant, content: &Content) -> bool {
        match content {
            Content::Brief { packet, range, .. } => self.brief.repeat(now, *packet, range),
            Content::Stream {
                slot, flow, range, ..
            } => {
                let waits = self
                    .flow_of(*slot, *flow)
                    .and_then(|flow| flow.stream.as_ref())
                    .is_some_and(|(_, stream)| !stream.has_confirmed(range));
                if waits {
                    self.lose(now, content, false);
                }
                waits
            }
        }
    }

    /// Fills `frame` with what is to be sent, in the order of the flows' turns; notes it in `ledger`
    /// and returns how many contents that were. `pattern` says when sparse packets are repeated.
    pub(crate) fn fill(
        &mut self,
        now: Instant,
        frame: &mut FrameWriter,
        ledger: &mut Ledger,
        (pattern, stats): (Pattern, &mut SentStats),
    ) -> usize {
        let mut contents = 0;
        while let Some(content) = self.fill_brief(frame) {
            contents += 1;
            ledger.carry(content);
        }
        while frame.brief_room() >= ROOM_MIN {
            let flows = &self.flows;
            let place = |slot: usize| {
                flows
                    .get(slot)
                    .and_then(Option::as_ref)
                    .map(|flow| flow.place.clone())
                    .unwrap_or_default()
            };
            let Some((slot, place)) = self.order.current(place) else {
                break;
            };
            let Some(flow) = &mut self.flows[slot] else {
                break;
            };
            let may_extend = self.span < HELD_MAX;
            if !flow.has_work(may_extend)
                || (flow.stream.is_none() && self.brief.len() >= BRIEF_MAX)
            {
                self.held_back |= flow.has_work(true);
                self.order.rest(&mut flow.place);
                continue;
            }
            if frame.content() > 0 && flow.is_better_whole(frame.brief_room()) {
                break;
            }
            let queued = flow.queued();
            let again = flow.has_repairs();
            let written = if flow.stream.is_some() {
                write_stream((slot, flow), frame, (&mut self.span, stats))
            } else {
                if let Some(packet) = flow.dequeue() {
                    self.brief.push(now, packet, flow.is_repaired());
                }
                self.fill_brief(frame)
            };
            let Some(flow) = &mut self.flows[slot] else {
                break;
            };
            let dequeued = queued - flow.queued();
            self.queued -= dequeued;
            let Some(content) = written else { break };
            // A brief packet pays for all its fragments at once.
            let bytes = match &content {
                Content::Stream { range, .. } => (range.end - range.start) as usize,
                Content::Brief { .. } => dequeued,
            };
            self.order.charge(&mut flow.place, bytes + 8);
            if flow.is_worth_repeating(now, &place, (pattern.young, again)) {
                let persistent = content.len() <= SMALL && !again;
                self.watch.add(now, content.clone(), (pattern, persistent));
            }
            ledger.carry(content);
            contents += 1;
        }
        contents
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
        })
    }

    /// The other end has `content`; returns how many bytes of it are news.
    pub(crate) fn confirm(&mut self, content: &Content) -> u64 {
        match content {
            Content::Brief { packet, range, .. } => self.brief.confirm(*packet, range.clone()),
            Content::Stream {
                slot,
                flow: number,
                range,
                end,
                ..
            } => {
                let Some(flow) = self.flow_of(*slot, *number) else {
                    return 0;
                };
                let Some((_, stream)) = &mut flow.stream else {
                    return 0;
                };
                let before = stream.span();
                let news = stream.confirm(range.clone());
                let freed = before - stream.span();
                let may_go_on = flow.has_work(true);
                self.span -= freed;
                if *end {
                    self.remove(*slot);
                } else if may_go_on && let Some(flow) = &mut self.flows[*slot] {
                    self.order.activate(*slot, &mut flow.place);
                }
                news
            }
        }
    }

    /// `content` was lost, and not by a fade. What is lost a second time has kept its flow waiting for two
    /// round trips, so it gets two chances more: a third loss would look like a broken path to TCP (RFC 6298 §5).
    pub(crate) fn lose_alone(&mut self, now: Instant, content: &Content, pattern: Pattern) {
        self.lose(now, content, false);
        if matches!(content, Content::Stream { again: true, .. }) {
            self.watch.add(now, content.clone(), (pattern, false));
        }
    }

    /// `content` did not arrive, or is presumed not to have.
    pub(crate) fn lose(&mut self, now: Instant, content: &Content, in_fade: bool) {
        match content {
            Content::Brief {
                packet,
                range,
                attempt,
            } => {
                let counts = !in_fade || self.brief.counts_fades();
                let failed = counts.then_some(*attempt);
                self.brief.lose(now, (*packet, range.clone()), failed);
            }
            Content::Stream {
                slot,
                flow: number,
                range,
                end,
                ..
            } => {
                let Some(flow) = self.flow_of(*slot, *number) else {
                    return;
                };
                if *end {
                    flow.ending = Some(Ending::Due);
                }
                if let Some((_, stream)) = &mut flow.stream {
                    stream.lose(range.clone());
                }
                if flow.has_work(false)
                    && let Some(flow) = &mut self.flows[*slot]
                {
                    self.order.activate(*slot, &mut flow.place);
                }
            }
        }
    }

    /// Lists those flows again that had to wait for room, once there is some.
    pub(crate) fn resume(&mut self) {
        let room = self.span < HELD_MAX || self.brief.len() < BRIEF_MAX;
        if !self.held_back || !room {
            return;
        }
        self.held_back = false;
        for (slot, flow) in self.flows.iter_mut().enumerate() {
            if let Some(flow) = flow.as_mut().filter(|flow| flow.has_work(true)) {
                self.order.activate(slot, &mut flow.place);
            }
        }
    }

    fn flow_of(&mut self, slot: usize, number: u64) -> Option<&mut Flow> {
        let flow = self.flows.get_mut(slot)?.as_mut()?;
        flow.stream
            .as_ref()
            .is_some_and(|(own, _)| *own == number)
            .then_some(flow)
    }

    /// Ends the flows that have been idle for long.
    pub(crate) fn end_idle(&mut self, now: Instant) {
        for slot in 0..self.flows.len() {
            let Some(flow) = &mut self.flows[slot] else {
                continue;
            };
            if flow.ending.is_some() || !flow.is_idle() || now.since(flow.last_active) < IDLE {
                continue;
            }
            self.slots.remove(&flow.key);
            if flow.stream.is_some() {
                flow.ending = Some(Ending::Due);
                self.order.activate(slot, &mut flow.place);
            } else {
                self.remove(slot);
            }
        }
    }

    fn remove(&mut self, slot: usize) {
        if let Some(flow) = self.flows[slot].take() {
            self.order.forget(slot, &flow.place);
            self.streams -= usize::from(flow.stream.is_some());
            if self.slots.get(&flow.key) == Some(&slot) {
                self.slots.remove(&flow.key);
            }
            self.free.push(slot);
        }
    }

    /// Brief packets given up so far.
    pub(crate) fn abandoned(&self) -> u64 {
        self.brief.abandoned
    }
}

/// Writes the next range of a held flow's stream; `None` if the frame has no room for it.
fn write_stream(
    (slot, flow): (usize, &mut Flow),
    frame: &mut FrameWriter,
    (span, stats): (&mut u64, &mut SentStats),
) -> Option<Content> {
    let number = flow.stream.as_ref()?.0;
    let room = frame.stream_room(number);
    let may_extend = *span < HELD_MAX;
    if room < ROOM_MIN {
        return None;
    }
    while may_extend
        && flow
            .stream
            .as_ref()
            .is_some_and(|(_, s)| !s.has_repairs() && s.unsent() < room as u64)
    {
        let Some(packet) = flow.dequeue() else { break };
        if let Some((_, stream)) = &mut flow.stream {
            stream.push(packet);
        }
    }
    let ending = flow.ending == Some(Ending::Due);
    let (_, stream) = flow.stream.as_mut()?;
    let repair = stream.has_repairs();
    let room = if repair {
        room
    } else {
        room.min(HELD_MAX.saturating_sub(*span) as usize)
    };
    let range = stream.next_range(room);
    let end = ending && range.end == stream.end();
    if end {
        flow.ending = Some(Ending::Sent);
    }
    let length = range.end - range.start;
    if repair {
        stats.bytes_repeated += length;
    }
    let before = stream.span();
    frame.stream((number, range.start), (length as usize, end), |out| {
        stream.send(&range, out);
    });
    *span += stream.span() - before;
    Some(Content::Stream {
        slot,
        flow: number,
        range,
        end,
        again: repair,
    })
}
