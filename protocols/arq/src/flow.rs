//! One flow at its sending end: the packets that wait, and what is on its way.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use machine::TokenDebt;
use units::{Duration, Instant};
use wire::flow::{Class, FlowKey};
use wire::hop::FrameWriter;
use wire::ip::Protocol;
use wire::packet::Packet;

use crate::controlled_delay::{ControlledDelay, Standing};
use crate::fair::Place;
use crate::filter::supersedes;
use crate::limits::PACKET;
use crate::stream::StreamSender;

/// A flow counts as sparse, and may be sent twice, up to 50 packets a second, after bursts of 8: in nanoseconds.
const SPARSE_INTERVAL: u64 = 20_000_000;
const SPARSE_BURST: u64 = 8 * SPARSE_INTERVAL;
/// Fewer packets than this that wait leave soon, each with its acknowledgement.
const BACKLOG: usize = 2;
/// The flow of packets that are to have none of their own: they share one, in each lane. The protocol is reserved
/// (RFC 5237), so no packet has this key.
pub const COMMON_FLOW: FlowKey = FlowKey {
    protocol: Protocol(255),
    source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    source_port: 0,
    destination_port: 0,
};
/// What a packet's record has before the packet, at most.
const RECORD_HEAD: usize = 5;

/// A flow at its sending end.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) key: FlowKey,
    /// Brief flows have none.
    pub(crate) stream: Option<Box<StreamSender>>,
    pub(crate) place: Place,
    pub(crate) last_active: Instant,
    /// Set once the stream is to end, or has been told to.
    pub(crate) ending: Option<Ending>,
    queue: VecDeque<Waiting>,
    queued: usize,
    /// What the buffers of the queue take.
    storage: usize,
    sparse: TokenDebt,
    last_drop: Option<Instant>,
    delay: ControlledDelay,
    lane: Lane,
}

/// A packet that waits.
#[derive(Debug)]
struct Waiting {
    since: Instant,
    packet: Packet,
}

/// How a flow's packets cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// See [`Class::Held`].
    Held,
    /// See [`Class::Brief`].
    Brief,
    /// Once, without repair; before those of its flow that wait, or behind them.
    Plain { ahead: bool },
    /// Once, in a chunk of its own: a packet of the split transport. They all are one flow.
    Transport,
}

impl Lane {
    /// The flow of all packets in this lane that have none of their own.
    pub(crate) fn common(self) -> FlowKey {
        let lane = match self {
            Self::Held => 1,
            Self::Brief => 2,
            Self::Plain { .. } => 3,
            Self::Transport => 4,
        };
        FlowKey {
            source_port: lane,
            ..COMMON_FLOW
        }
    }
}

impl From<Class> for Lane {
    fn from(class: Class) -> Self {
        match class {
            Class::Held => Self::Held,
            Class::Brief => Self::Brief,
        }
    }
}

/// What is left of a packet at the end of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// All of it.
    Whole,
    /// All but its first segment.
    Shortened,
    /// Nothing.
    Dropped,
}

/// How far the end of a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The end is to be sent, for the first time or again.
    Due,
    /// It is on its way.
    Sent,
}

impl Flow {
    /// A flow in `lane`, with the number of its stream if it has one.
    pub(crate) fn new(key: FlowKey, lane: Lane, stream: Option<u64>, now: Instant) -> Self {
        Self {
            key,
            stream: stream.map(|number| Box::new(StreamSender::new(number))),
            place: Place::default(),
            last_active: now,
            ending: None,
            queue: VecDeque::new(),
            queued: 0,
            storage: 0,
            sparse: TokenDebt::empty(now, SPARSE_BURST),
            last_drop: None,
            delay: ControlledDelay::default(),
            lane,
        }
    }

    /// Whether what is lost of it is sent again.
    pub(crate) fn is_repaired(&self) -> bool {
        matches!(self.lane, Lane::Held | Lane::Brief)
    }

    /// Whether its packets are those of the split transport.
    pub(crate) fn is_transport(&self) -> bool {
        self.lane == Lane::Transport
    }

    /// Bytes of the packets that wait.
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// Bytes that it holds beside its own.
    pub(crate) fn memory(&self) -> usize {
        let stream = self.stream.as_ref().map(|stream| stream.memory());
        let stream = stream.unwrap_or_default();
        let packets = self.queue.len() + stream.packets;
        let slots = self.queue.capacity() * size_of::<Waiting>() + stream.slots;
        self.storage + stream.storage + stream.tables + slots.max(packets * PACKET)
    }

    /// Gives back the room of queues that have been longer.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink_to_fit();
        if let Some(stream) = &mut self.stream {
            stream.shrink();
        }
    }

    /// Adds a packet behind the others; returns how many packets the flow lost by it.
    ///
    /// An acknowledgement takes the place of one that it makes useless: a slow way back would else be late with all.
    /// Beyond `limit` bytes the oldest segment goes, once an interval, so that its
    /// sender hears of it soon and slows down once; beyond twice that, the newest goes. Where the sender understands
    /// marks the oldest is marked and stays.
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        packet: Packet,
        limit: usize,
        interval: Duration,
    ) -> u64 {
        self.last_active = now;
        if self.queue.len() >= BACKLOG
            && let Some(last) = self.queue.back_mut()
            && supersedes(&packet, &last.packet)
        {
            let storage = packet.capacity();
            let former = std::mem::replace(&mut last.packet, packet);
            self.storage = self.storage + storage - former.capacity();
            return 0;
        }
        if self.queued + packet.len() > 2 * limit && !self.queue.is_empty() {
            return 1;
        }
        self.queued += packet.len();
        self.storage += packet.capacity();
        if let Some(stream) = &mut self.stream {
            stream.held.hold(&packet);
        }
        self.queue.push_back(Waiting { since: now, packet });
        let rested = self.last_drop.is_none_or(|at| now.since(at) > interval);
        if self.queued <= limit || !rested || self.queue.len() < 2 {
            return 0;
        }
        self.last_drop = Some(now);
        let Some(oldest) = self.queue.front_mut() else {
            return 0;
        };
        let oldest = &mut oldest.packet;
        if self.delay.mark(oldest) {
            return 0;
        }
        let before = oldest.len();
        if oldest.drop_first_segment() {
            let dropped = before - oldest.len();
            self.queued -= dropped;
            if let Some(stream) = &mut self.stream {
                stream.held.shortened(oldest, dropped);
            }
        } else {
            self.drop_oldest();
        }
        1
    }

    /// Does to a packet of the plain lane, before anybody has kept a copy of it, what
    /// [`enqueue`](Self::enqueue) does to the oldest.
    pub(crate) fn admit(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        limit: usize,
        interval: Duration,
    ) -> Admission {
        let length = self.queued + packet.len();
        if length > 2 * limit && !self.queue.is_empty() {
            return Admission::Dropped;
        }
        let rested = self.last_drop.is_none_or(|at| now.since(at) > interval);
        if length <= limit || !rested || self.queue.is_empty() {
            return Admission::Whole;
        }
        self.last_drop = Some(now);
        if self.delay.mark(packet) {
            Admission::Whole
        } else if packet.drop_first_segment() {
            Admission::Shortened
        } else {
            Admission::Dropped
        }
    }

    /// Puts a packet before the others; beyond twice `limit` bytes it is dropped. Returns how many were.
    pub(crate) fn enqueue_ahead(&mut self, now: Instant, packet: Packet, limit: usize) -> u64 {
        self.last_active = now;
        if self.queued + packet.len() > 2 * limit {
            return 1;
        }
        self.queued += packet.len();
        self.storage += packet.capacity();
        self.queue.push_front(Waiting { since: now, packet });
        0
    }

    /// Whether its next packet had better wait for the next frame than be cut in this one: without repair a part is
    /// of no use.
    pub(crate) fn is_better_whole(&self, frame: &FrameWriter) -> bool {
        let next = self.queue.front().filter(|_| !self.is_repaired());
        next.is_some_and(|waiting| {
            let length = waiting.packet.len();
            if self.is_transport() {
                length > frame.transport_room()
            } else {
                frame.content() > 0 && length + RECORD_HEAD > frame.brief_room()
            }
        })
    }

    /// It is this flow's turn: marks the packet that has waited longest, if the queue stands. Returns how many packets
    /// of the flow have been marked since the last turn.
    pub(crate) fn mark_standing(&mut self, now: Instant, standing: Standing) -> u64 {
        let (alone, is_ip) = (self.queue.len() < 2, !self.is_transport());
        match self.queue.front_mut().filter(|_| is_ip) {
            Some(waiting) => {
                let waited = now.since(waiting.since);
                self.delay
                    .judge(now, (&mut waiting.packet, waited), (standing, alone));
            }
            None => self.delay.rest(),
        }
        self.delay.take_marked()
    }

    /// Whether `packet` repeats data that still wait to be delivered, and says nothing else.
    pub(crate) fn has(&self, packet: &Packet) -> bool {
        let stream = self.stream.as_ref();
        stream.is_some_and(|stream| stream.held.has(packet))
    }

    /// Drops the packet that has waited longest; returns its length in bytes.
    pub(crate) fn drop_oldest(&mut self) -> usize {
        let Some(packet) = self.dequeue() else {
            return 0;
        };
        if let Some(stream) = &mut self.stream {
            stream.held.release(&packet);
        }
        packet.len()
    }

    /// Takes the packet that has waited longest.
    pub(crate) fn dequeue(&mut self) -> Option<Packet> {
        let packet = self.queue.pop_front()?.packet;
        self.queued -= packet.len();
        self.storage -= packet.capacity();
        Some(packet)
    }

    /// Whether there is something to send, given whether a new range of its stream may be sent.
    pub(crate) fn has_work(&self, may_extend: bool) -> bool {
        match &self.stream {
            Some(stream) => {
                stream.has_repairs(false)
                    || self.ending == Some(Ending::Due)
                    || (may_extend && (stream.has_work() || !self.queue.is_empty()))
            }
            None => !self.queue.is_empty(),
        }
    }

    /// Whether what it sends now is better sent twice: it has no backlog and has sent little of late, or it has
    /// sent little in all. A young flow is one whose sender still finds out how fast it may be, and takes the
    /// delay of a repair for a full queue (RFC 9406); what it sends `again` is not repeated again.
    pub(crate) fn is_worth_repeating(
        &mut self,
        now: Instant,
        place: &Place,
        (young, again): (u64, bool),
    ) -> bool {
        let sparse = self.is_repaired()
            && place.is_sparse()
            && self.queue.is_empty()
            && self
                .sparse
                .take(now, SPARSE_INTERVAL, SPARSE_BURST, Duration::as_nanos);
        let young = self
            .stream
            .as_ref()
            .is_some_and(|stream| stream.end() < young);
        sparse || (young && !again)
    }

    /// Whether nothing waits and nothing is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
            && self
                .stream
                .as_ref()
                .is_none_or(|stream| stream.is_confirmed())
    }
}
