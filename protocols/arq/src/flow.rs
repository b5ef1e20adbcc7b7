//! The sending end of one flow: the packets that wait, and those in flight.

use std::net::{IpAddr, Ipv4Addr};

use machine::TokenDebt;
use units::{Duration, Instant};
use wire::flow::{Class, FlowKey};
use wire::hop::FrameWriter;
use wire::ip::Protocol;
use wire::packet::Packet;

use crate::QueueOrder;
use crate::controlled_delay::{CodelParameters, ControlledDelay};
use crate::fair::Place;
use crate::filter::supersedes;
use crate::held::HeldData;
use crate::limits::PACKET;
use crate::queue::Queue;
use crate::repetition::segment;
use crate::stream::StreamSender;

/// A flow counts as sparse, and may be sent twice, up to 50 packets a second, after bursts of 8: in nanoseconds.
const SPARSE_INTERVAL: u64 = 20_000_000;
const SPARSE_BURST: u64 = 8 * SPARSE_INTERVAL;
/// Number of waiting packets below which they leave soon, each with its acknowledgement.
const BACKLOG: usize = 2;
/// The key of the common flow: packets without a flow of their own share it, in each lane. The protocol is reserved
/// (RFC 5237), so no packet has this key.
pub const COMMON_FLOW: FlowKey = FlowKey {
    protocol: Protocol(255),
    source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    source_port: 0,
    destination_port: 0,
};
/// Age at which a datagram that waits is dropped when a newer one of its flow comes. By then its sender has asked again
/// or given up (resolvers do after 5 s, see resolv.conf(5); QUIC after 1 s, RFC 9002 §6.2.2), and after an outage of
/// hours its repetitions would fill the hop.
const OUTDATED: Duration = Duration::from_secs(10);
/// Most bytes of a packet's record before the packet.
const RECORD_HEAD: usize = 5;

/// The sending end of a flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) key: FlowKey,
    /// Its stream; brief flows have none.
    pub(crate) stream: Option<Box<StreamSender>>,
    pub(crate) place: Place,
    pub(crate) last_active: Instant,
    /// Set once the end of the stream is to be sent, or has been sent.
    pub(crate) ending: Option<Ending>,
    queue: Queue,
    sparse: TokenDebt,
    last_drop: Option<Instant>,
    delay: ControlledDelay,
    /// Data that wait, in the plain lane.
    plain: Option<Box<HeldData>>,
    lane: Lane,
}

/// Lane of a flow's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// See [`Class::Held`].
    Held,
    /// See [`Class::Brief`].
    Brief,
    /// Sent once, without repair, in this order.
    Plain(QueueOrder),
    /// Sent once, in a chunk of its own: a packet of the split transport. All of them are one flow.
    Transport,
}

impl Lane {
    /// Returns true if a layer above repairs its losses, that of the oldest packet too: it keeps copies.
    fn is_repaired_above(self) -> bool {
        matches!(self, Self::Plain(QueueOrder::Sequence | QueueOrder::First))
    }

    /// Returns the key of the common flow of this lane.
    pub(crate) fn common(self) -> FlowKey {
        let lane = match self {
            Self::Held => 1,
            Self::Brief => 2,
            Self::Plain(_) => 3,
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

/// Outcome of a packet at the end of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The whole packet is left.
    Whole,
    /// All but its first segment is left.
    Shortened,
    /// Nothing is left.
    Dropped,
}

/// State of the end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The end is to be sent, for the first time or again.
    Due,
    /// It is in flight.
    Sent,
}

impl Flow {
    /// Returns a flow in `lane`, with the number of its stream if it has one.
    pub(crate) fn new(key: FlowKey, lane: Lane, stream: Option<u64>, now: Instant) -> Self {
        // The common flow has segments of many connections.
        let is_ordered = lane.is_repaired_above() && key.protocol == Protocol::TCP;
        Self {
            key,
            stream: stream.map(|number| Box::new(StreamSender::new(number))),
            place: Place::default(),
            last_active: now,
            ending: None,
            queue: Queue::default(),
            sparse: TokenDebt::empty(now, SPARSE_BURST),
            last_drop: None,
            delay: ControlledDelay::default(),
            plain: is_ordered.then(Box::default),
            lane,
        }
    }

    /// Returns true if lost data of the flow is retransmitted.
    pub(crate) fn is_repaired(&self) -> bool {
        matches!(self.lane, Lane::Held | Lane::Brief)
    }

    /// Returns true if its packets are those of the split transport.
    pub(crate) fn is_transport(&self) -> bool {
        self.lane == Lane::Transport
    }

    /// Returns the bytes of the packets that wait.
    pub(crate) fn queued(&self) -> usize {
        self.queue.bytes()
    }

    /// Returns the bytes of memory beyond its own size.
    pub(crate) fn memory(&self) -> usize {
        let stream = self.stream.as_ref().map(|stream| stream.memory());
        let stream = stream.unwrap_or_default();
        let plain = self.plain.as_ref();
        let plain = plain.map_or(0, |held| size_of::<HeldData>() + held.memory());
        let packets = self.queue.len() + stream.packets;
        let (storage, slots) = self.queue.memory();
        let slots = (slots + stream.slots).max(packets * PACKET);
        storage + plain + stream.storage + stream.tables + slots
    }

    /// Frees the memory of queues that have been longer.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink();
        if let Some(stream) = &mut self.stream {
            stream.shrink();
        }
        if let Some(held) = &mut self.plain {
            held.shrink();
        }
    }

    /// Adds a packet behind the others; returns the number of packets that the flow lost by it.
    ///
    /// An acknowledgement replaces one that it makes useless: otherwise a slow way back would delay all of them.
    /// Beyond twice `limit` bytes the newest packet is dropped. Packets that are not held are dropped as well if they
    /// are [`OUTDATED`].
    pub(crate) fn enqueue(&mut self, now: Instant, packet: Packet, limit: usize) -> u64 {
        self.last_active = now;
        let last = self.queue.back().filter(|_| self.queue.len() >= BACKLOG);
        if last.is_some_and(|last| supersedes(&packet, last)) {
            self.queue.replace_back(packet);
            return 0;
        }
        let outdated = self.drop_outdated(now);
        if self.queue.bytes() + packet.len() > 2 * limit && !self.queue.is_empty() {
            return outdated + 1;
        }
        let is_behind = self.held_mut().is_some_and(|held| held.hold(&packet));
        let placed = if is_behind {
            self.queue.overtake(now, packet)
        } else {
            Err(packet)
        };
        if let Err(packet) = placed {
            self.queue.push_back(now, packet);
        }
        outdated
    }

    /// Begins the flow's turn with a queue that is too long: the first segment of the oldest packet is dropped, once
    /// an interval, so that its sender notices soon and slows down once. If the sender supports marks, the oldest is
    /// marked and stays. Returns the number of packets that the flow lost.
    ///
    /// Packets that come while nothing can be sent make the queue longer, and say nothing about their sender. Where a
    /// layer above repairs losses, nothing is dropped here: see [`admit`](Self::admit).
    pub(crate) fn signal_excess(&mut self, now: Instant, interval: Duration) -> u64 {
        // What is sent again is the answer to the last signal.
        let is_again = self.queue.front().is_some_and(|oldest| oldest.is_again);
        let may_drop = self.queue.len() >= 2 && !is_again && !self.lane.is_repaired_above();
        if !may_drop || !self.begins_interval(now, interval) {
            return 0;
        }
        let Some(oldest) = self.queue.front_mut() else {
            return 0;
        };
        if self.delay.mark(&mut oldest.packet) {
            return 0;
        }
        let Some(dropped) = self.queue.shorten_front() else {
            self.drop_oldest();
            return 1;
        };
        let held = match &mut self.stream {
            Some(stream) => Some(&mut stream.held),
            None => self.plain.as_deref_mut(),
        };
        if let Some((held, oldest)) = held.zip(self.queue.front()) {
            held.shortened(&oldest.packet, dropped);
        }
        1
    }

    /// Returns true if the sender has reacted to the last signal, and notes the next one.
    fn begins_interval(&mut self, now: Instant, interval: Duration) -> bool {
        let has_reacted = self.last_drop.is_none_or(|at| now.since(at) > interval);
        if has_reacted {
            self.last_drop = Some(now);
        }
        has_reacted
    }

    /// Drops the packets that are [`OUTDATED`], unless they are held or those of the split transport, which its ends
    /// number. Returns their number.
    fn drop_outdated(&mut self, now: Instant) -> u64 {
        let mut dropped = 0;
        if self.stream.is_none() && !self.is_transport() {
            while let Some(oldest) = self.queue.front()
                && now.since(oldest.since) > OUTDATED
            {
                self.drop_oldest();
                dropped += 1;
            }
        }
        dropped
    }

    /// Applies to a packet of the plain lane, before a layer above keeps a copy of it, what
    /// [`enqueue`](Self::enqueue) does to it, and [`signal_excess`](Self::signal_excess) to the oldest one of other
    /// flows. Its sender notices when all before it have left, which takes an interval, and reacts an interval later.
    pub(crate) fn admit(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        limit: usize,
        interval: Duration,
    ) -> Admission {
        let length = self.queue.bytes() + packet.len();
        if length > 2 * limit && !self.queue.is_empty() {
            return Admission::Dropped;
        }
        // What is sent again is the answer to the last signal.
        let is_again = self.held().is_some_and(|held| held.is_behind(packet));
        let is_long = length > limit && !self.queue.is_empty();
        let may_drop = is_long && !is_again && self.lane.is_repaired_above();
        if !may_drop || !self.begins_interval(now, interval * 2) {
            return Admission::Whole;
        }
        if self.delay.mark(packet) {
            Admission::Whole
        } else if packet.drop_first_segment() {
            Admission::Shortened
        } else {
            Admission::Dropped
        }
    }

    /// Puts a packet before the others, but behind segments with earlier data, unless it waits already; beyond twice
    /// `limit` bytes it is dropped. Returns the number of packets dropped.
    pub(crate) fn enqueue_ahead(&mut self, now: Instant, packet: Packet, limit: usize) -> u64 {
        self.last_active = now;
        let first = self.queue.front();
        let is_first = first.is_some_and(|first| first.packet[..] == packet[..]);
        let waits = |held: &HeldData| segment(&packet).is_some_and(|tcp| held.has_data(&tcp));
        if is_first || self.plain.as_deref().is_some_and(waits) {
            return 0;
        }
        if self.queue.bytes() + packet.len() > 2 * limit {
            return 1;
        }
        let placed = match &mut self.plain {
            Some(held) => {
                held.hold(&packet);
                self.queue.overtake(now, packet)
            }
            None => Err(packet),
        };
        if let Err(packet) = placed {
            self.queue.push_front(now, packet);
        }
        0
    }

    /// Returns true if its next packet should wait for the next frame rather than be split: without repair a part is
    /// useless.
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

    /// Begins the flow's turn: marks the packet that has waited longest, if the queue stands. Returns the number of
    /// packets of the flow marked since the last turn.
    pub(crate) fn mark_standing(&mut self, now: Instant, standing: CodelParameters) -> u64 {
        let (alone, is_ip) = (self.queue.len() < 2, !self.is_transport());
        match self.queue.front_mut().filter(|_| is_ip) {
            Some(waiting) => {
                let waited = now.since(waiting.since);
                self.delay
                    .judge(now, &mut waiting.packet, waited, standing, alone);
            }
            None => self.delay.rest(),
        }
        self.delay.take_marked()
    }

    /// Returns true if `packet` repeats data that still wait to be delivered, and carries nothing else.
    pub(crate) fn has(&self, packet: &Packet) -> bool {
        self.held().is_some_and(|held| held.has(packet))
    }

    /// Returns true if the data of `packet` wait to be delivered, or it has none.
    pub(crate) fn keeps(&self, packet: &Packet) -> bool {
        self.held().is_some_and(|held| held.keeps(packet))
    }

    /// Returns the data that wait, if they are known.
    fn held(&self) -> Option<&HeldData> {
        let of_stream = self.stream.as_ref().map(|stream| &stream.held);
        of_stream.or(self.plain.as_deref())
    }

    fn held_mut(&mut self) -> Option<&mut HeldData> {
        let of_stream = self.stream.as_mut().map(|stream| &mut stream.held);
        of_stream.or(self.plain.as_deref_mut())
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

    /// Removes and returns the packet that has waited longest.
    pub(crate) fn dequeue(&mut self) -> Option<Packet> {
        let packet = self.queue.dequeue()?;
        if let Some(held) = &mut self.plain {
            // Its repair is that of the layer above.
            held.release(&packet);
        }
        Some(packet)
    }

    /// Returns true if there is something to send, given whether a new range of its stream may be sent.
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

    /// Returns true if the content that it sends now should be sent twice: the flow has no backlog and has sent
    /// little recently, or it has sent little in all. The sender of a young flow still probes for its rate, and takes
    /// the delay of a repair for a full queue (RFC 9406); a retransmission (`again`) is not repeated again.
    pub(crate) fn is_worth_repeating(
        &mut self,
        now: Instant,
        place: &Place,
        young: u64,
        again: bool,
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

    /// Returns true if nothing waits and nothing is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
            && self
                .stream
                .as_ref()
                .is_none_or(|stream| stream.is_confirmed())
    }
}
