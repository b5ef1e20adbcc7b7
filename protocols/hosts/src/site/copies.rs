//! Copies of the segments of TCP to a mobile host that is about to move, at the gateway that is to serve it.
//!
//! Everything to a mobile host passes its home. From the moment that it prepares a move, its home sends the segments
//! of its connections to the next gateway, too. Sequence numbers say where a copy belongs: what the mobile host has, at
//! its former gateway, ends with a number in each connection. If the copies of a connection begin before that, the next
//! gateway goes on there at once, and nothing has to come from the former one.

use std::collections::{BTreeMap, VecDeque};

use association::Reached;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant, SeqNumber};
use wire::flow::FlowKey;
use wire::ip::Transport;
use wire::packet::Packet;
use wire::tcp::SeqRange;

/// Time for which a home sends copies, and a gateway keeps them: it ends first where they are kept, so that none
/// is missing there.
const SENT: Duration = Duration::from_secs(3);
const KEPT: Duration = Duration::from_secs(2);
/// Most bytes of copies that a gateway keeps for a mobile host: half a second at 50 Mbit/s. Several share more.
const KEPT_MOST: usize = 4 << 20;
const SHARED: usize = 32 << 20;
/// Most flows of which there are copies.
const FLOWS_MOST: usize = 1_024;
/// Most connections that a message names.
const NAMED_MOST: usize = 32;

/// Time between two reports of a mobile host to the next gateway, and for which it waits for copies: for as long as
/// something comes from its former gateway, and of its connections.
const REPORT: Duration = Duration::from_millis(25);
const PATIENCE: Duration = Duration::from_millis(500);
const SILENCE: Duration = Duration::from_millis(50);
const IDLE: Duration = Duration::from_millis(100);
/// Time after the last segment in which a connection is worth a copy.
pub(crate) const RECENT: Duration = Duration::from_secs(1);

/// What a mobile host has of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The flow to it.
    pub(crate) flow: FlowKey,
    /// Sequence number after all that has come.
    pub(crate) next: u32,
    /// Clock of its sender in the last segment, if it has one.
    pub(crate) clock: Option<u32>,
}

/// The wait of a mobile host until the next gateway has copies of what is on its way.
#[derive(Debug)]
pub(crate) struct Gathering {
    began: Instant,
    /// Time when it is given up.
    until: Instant,
    /// Time of the next report.
    due: Instant,
    /// What had come of each connection when it began.
    before: BTreeMap<FlowKey, Reached>,
    state: GatheringState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GatheringState {
    Waits,
    /// The next gateway has all that the mobile host lacks.
    IsComplete,
    GivenUp,
}

impl Gathering {
    /// Begins to wait; these connections are in use. If the hop is about to end, half of the time before that is for
    /// leaving it.
    pub(crate) fn new(
        now: Instant,
        ends: Option<Instant>,
        before: BTreeMap<FlowKey, Reached>,
    ) -> Self {
        let patience = ends.map_or(PATIENCE, |ends| PATIENCE.min(ends.since(now) / 2));
        Self {
            began: now,
            until: now + patience,
            due: now,
            before,
            state: GatheringState::Waits,
        }
    }

    /// Returns the time of the next report, if it is not over.
    pub(crate) fn due(&self) -> Option<Instant> {
        (self.state == GatheringState::Waits).then_some(self.due)
    }

    /// Returns true if a report is due, and sets the time of the next one.
    pub(crate) fn reports(&mut self, now: Instant) -> bool {
        let reports = self.due().is_some_and(|due| due <= now);
        if reports {
            self.due = (now + REPORT).min(self.until.max(now));
        }
        reports
    }

    /// Gives up if there is no use in waiting, where the former gateway was heard at that time and this has come of the
    /// connections; returns true if it does.
    pub(crate) fn gives_up(
        &mut self,
        now: Instant,
        heard: Option<Instant>,
        progress: &[Progress],
    ) -> bool {
        let lasts = now.since(self.began);
        let is_silent = heard.is_none_or(|heard| now.since(heard) > SILENCE);
        let is_idle = progress.is_empty() && lasts > IDLE;
        let gives_up = is_silent || is_idle || now >= self.until;
        if gives_up {
            self.state = GatheringState::GivenUp;
        }
        gives_up
    }

    /// Returns what has come of these connections, if something has since it began.
    pub(crate) fn progress(&self, all: impl Iterator<Item = (FlowKey, Reached)>) -> Vec<Progress> {
        let moving = all.filter(|(flow, reached)| {
            let before = self.before.get(flow);
            before.is_none_or(|before| before.next != reached.next)
        });
        let named = moving.map(|(flow, Reached { next, clock })| Progress {
            flow,
            next: next.0,
            clock,
        });
        named.take(NAMED_MOST).collect()
    }

    /// Ends it, as the next gateway has all copies; returns false if it had ended.
    pub(crate) fn completes(&mut self) -> bool {
        let completes = self.state == GatheringState::Waits;
        if completes {
            self.state = GatheringState::IsComplete;
        }
        completes
    }

    /// Returns true if the next gateway has all copies.
    pub(crate) fn is_complete(&self) -> bool {
        self.state == GatheringState::IsComplete
    }
}

/// What a home sends to the gateway that is to serve a mobile host, beside the one that does.
#[derive(Debug)]
pub(crate) struct Copying {
    /// Index of that gateway; `None` if this one is the next.
    pub(crate) to: Option<usize>,
    /// The attachment that the mobile host prepares.
    number: u64,
    until: Instant,
    sent: BTreeMap<FlowKey, Sent>,
    /// What the mobile host had of the flows with which that gateway has begun.
    begun: Vec<Progress>,
}

/// What was sent of a flow.
#[derive(Debug, Clone, Copy)]
struct Sent {
    segments: u64,
    /// Sequence number after it.
    end: SeqNumber,
}

/// Flows with which the next gateway has begun, and the part of each of which it has copies that the mobile host lacks.
pub(crate) type Begun = BTreeMap<FlowKey, SeqRange>;

impl Copying {
    /// Begins to send copies, for an attachment with this number.
    pub(crate) fn new(now: Instant, to: Option<usize>, number: u64) -> Self {
        Self {
            to,
            number,
            until: now + SENT,
            sent: BTreeMap::new(),
            begun: Vec::new(),
        }
    }

    /// Returns true if it is for this attachment to this gateway, and all copies have been sent.
    pub(crate) fn is_for(&self, now: Instant, to: Option<usize>, number: u64) -> bool {
        self.to == to && self.number == number && self.lasts(now)
    }

    /// Returns true if copies are to be sent still.
    pub(crate) fn lasts(&self, now: Instant) -> bool {
        now < self.until
    }

    /// Returns the copy of a packet that is to be sent, if there is one.
    pub(crate) fn copy(&mut self, packet: &Packet) -> Option<Packet> {
        let copy = packet.marked_copy()?;
        let (flow, range) = (copy.flow()?, copy.sequence()?);
        if self.sent.len() >= FLOWS_MOST && !self.sent.contains_key(&flow) {
            return None;
        }
        let sent = self.sent.entry(flow).or_insert(Sent {
            segments: 0,
            end: range.end,
        });
        sent.segments += copy.data_segments();
        if range.end > sent.end {
            sent.end = range.end;
        }
        Some(copy)
    }

    /// Notes what the mobile host had of the flows with which the next gateway has begun.
    pub(crate) fn has_begun(&mut self, begun: Vec<Progress>) {
        self.begun = begun;
    }

    /// Returns the flows with which the next gateway has begun, and the number of segments of these that were sent.
    pub(crate) fn end(self) -> (Begun, u64) {
        let (mut begun, mut segments) = (Begun::new(), 0);
        for Progress { flow, next, .. } in self.begun {
            if let Some(sent) = self.sent.get(&flow) {
                let (start, end) = (SeqNumber(next), sent.end);
                let is_first = begun.insert(flow, SeqRange { start, end }).is_none();
                segments += if is_first { sent.segments } else { 0 };
            }
        }
        (begun, segments)
    }
}

/// The copies that a gateway has for a mobile host.
#[derive(Debug)]
pub(crate) struct Copies {
    /// The attachment that they are for.
    pub(crate) number: u64,
    pub(crate) until: Instant,
    kept: BTreeMap<FlowKey, Copied>,
    /// Bytes of these, and the largest number that is allowed.
    bytes: usize,
    most: usize,
    /// What the mobile host has, as it said last.
    progress: Vec<Progress>,
    /// The flows with which this gateway has begun, once it has.
    begun: Option<BTreeMap<FlowKey, Rest>>,
}

/// Copies of one flow, without a gap, and each byte once: who repeats it may have it dropped by the former gateway, or
/// not, and in another order.
#[derive(Debug)]
struct Copied {
    packets: VecDeque<Packet>,
    /// The part of its sequence that is kept.
    kept: SeqRange,
    /// Segments that have come, kept or not.
    segments: u64,
}

/// The part of a flow that a gateway which has begun with it passes on.
#[derive(Debug, Clone, Copy)]
struct Rest {
    /// Sequence number up to which the mobile host had it.
    start: SeqNumber,
    /// Sequence number after all that has been passed on.
    next: SeqNumber,
    /// True if something has not come: it may come again.
    has_gap: bool,
    /// Clock of its sender in what the mobile host had: what was sent again has overtaken the rest there, which would
    /// be dropped with an earlier one (RFC 7323 §5).
    clock: Option<u32>,
}

impl Rest {
    /// Returns true if a copy that comes next is passed on. What is sent again is left out: the mobile host has it or
    /// gets it, by what was passed on already, or by what its former gateway returns.
    fn takes(&mut self, range: SeqRange) -> bool {
        let is_new = range.end > self.next;
        if is_new {
            self.has_gap |= range.start > self.next;
            self.next = range.end;
        }
        is_new || (self.has_gap && range.end > self.start)
    }

    /// Takes the segments off a packet that the mobile host has, and sets its clock to one that it takes.
    fn fit(&mut self, packet: &mut Packet) {
        leave_out_segments(packet, self.start);
        self.clock.take_if(|clock| !packet.raise_timestamp(*clock));
    }
}

impl Copies {
    /// Returns no copies for the attachment with this number, at a gateway that has copies for so many others.
    pub(crate) fn new(now: Instant, number: u64, others: usize) -> Self {
        Self {
            number,
            until: now + KEPT,
            kept: BTreeMap::new(),
            bytes: 0,
            most: KEPT_MOST.min(SHARED / (others + 1)),
            progress: Vec::new(),
            begun: None,
        }
    }

    /// Takes a copy. Returns its number of segments if this gateway has begun with its flow, and the packet if the
    /// mobile host lacks it.
    pub(crate) fn take(&mut self, copy: Packet) -> Option<(u64, Option<Packet>)> {
        let flow = copy.flow()?;
        let Some(begun) = &mut self.begun else {
            self.keep(flow, copy);
            return None;
        };
        let rest = begun.get_mut(&flow)?;
        let takes = copy.sequence().is_some_and(|range| rest.takes(range));
        let segments = copy.data_segments();
        let mut packet = copy.without_mark();
        if takes {
            rest.fit(&mut packet);
        }
        Some((segments, takes.then_some(packet)))
    }

    fn keep(&mut self, flow: FlowKey, copy: Packet) {
        let is_one_too_many = self.kept.len() >= FLOWS_MOST && !self.kept.contains_key(&flow);
        let Some(range) = copy.sequence().filter(|_| !is_one_too_many) else {
            return;
        };
        let first = || Copied::from(range.start);
        let copied = self.kept.entry(flow).or_insert_with(first);
        copied.segments += copy.data_segments();
        if range.end <= copied.kept.end {
            return;
        }
        let packet = copy.without_mark().right_sized();
        let capacity = packet.capacity();
        if range.start > copied.kept.end || self.bytes + capacity > self.most {
            // What follows is of use once the mobile host has what was before.
            self.bytes -= copied.begin_at(range.start);
        }
        if self.bytes + capacity > self.most {
            copied.begin_at(range.end);
        } else {
            copied.kept.end = range.end;
            self.bytes += capacity;
            copied.packets.push_back(packet);
        }
    }

    /// Returns true if copies are kept, as this gateway does not serve the mobile host yet.
    pub(crate) fn is_gathering(&self) -> bool {
        self.begun.is_none()
    }

    /// Notes what the mobile host has; returns true if it lacks nothing that is not here.
    pub(crate) fn note(&mut self, progress: Vec<Progress>) -> bool {
        self.progress = progress;
        if self.begun.is_some() {
            return false;
        }
        for at in &self.progress {
            if let Some(copied) = self.kept.get_mut(&at.flow) {
                self.bytes -= copied.leave_out(SeqNumber(at.next));
            }
        }
        let mut all = self.progress.iter();
        !self.progress.is_empty() && all.all(|at| self.covers(at))
    }

    /// Returns true if all that the mobile host lacks of a flow is here, or will be: its former gateway may be nearer
    /// to its home.
    fn covers(&self, at: &Progress) -> bool {
        let copied = self.kept.get(&at.flow);
        copied.is_some_and(|copied| copied.kept.start <= SeqNumber(at.next))
    }

    /// Begins to serve the mobile host with what it lacks; returns the number of segments of these flows that have
    /// come, and the packets that it lacks.
    pub(crate) fn begin(&mut self) -> (u64, Vec<Packet>) {
        if self.begun.is_some() {
            return (0, Vec::new());
        }
        let covered = self.progress.iter().filter(|at| self.covers(at));
        let covered: Vec<_> = covered.copied().collect();
        let (mut begun, mut segments, mut packets) = (BTreeMap::new(), 0, Vec::new());
        for Progress { flow, next, clock } in covered {
            if let Some(mut copied) = self.kept.remove(&flow) {
                let (start, end) = (SeqNumber(next), copied.kept.end);
                let mut rest = Rest {
                    start,
                    next: if end > start { end } else { start },
                    has_gap: false,
                    clock,
                };
                copied
                    .packets
                    .iter_mut()
                    .for_each(|packet| rest.fit(packet));
                begun.insert(flow, rest);
                segments += copied.segments;
                packets.extend(copied.packets);
            }
        }
        (self.begun, self.kept, self.bytes) = (Some(begun), BTreeMap::new(), 0);
        (segments, packets)
    }

    /// Returns true if this gateway has begun with the copies of this flow.
    pub(crate) fn has_begun(&self, flow: &FlowKey) -> bool {
        let begun = self.begun.as_ref();
        begun.is_some_and(|begun| begun.contains_key(flow))
    }

    /// Returns what the mobile host had of the flows with which this gateway has begun, once it has.
    pub(crate) fn begun(&self) -> Option<Vec<Progress>> {
        let begun = self.begun.as_ref()?.iter();
        let progress = begun.map(|(flow, rest)| Progress {
            flow: *flow,
            next: rest.start.0,
            clock: rest.clock,
        });
        Some(progress.collect())
    }
}

impl From<SeqNumber> for Copied {
    fn from(start: SeqNumber) -> Self {
        Self {
            packets: VecDeque::new(),
            kept: SeqRange { start, end: start },
            segments: 0,
        }
    }
}

impl Copied {
    /// Forgets what is before this number; returns the bytes of that.
    fn begin_at(&mut self, start: SeqNumber) -> usize {
        self.kept = SeqRange { start, end: start };
        let lost = std::mem::take(&mut self.packets);
        lost.iter().map(Packet::capacity).sum()
    }

    /// Leaves out what the mobile host has, which is everything before this number; returns the bytes of that.
    fn leave_out(&mut self, next: SeqNumber) -> usize {
        let mut bytes = 0;
        while let Some(packet) = self.packets.front_mut() {
            leave_out_segments(packet, next);
            let Some(range) = packet.sequence().filter(|range| range.end <= next) else {
                break;
            };
            bytes += packet.capacity();
            self.kept.start = range.end;
            self.packets.pop_front();
        }
        bytes
    }
}

/// Takes off the segments of a packet that end before this number, if it stands for more than those.
fn leave_out_segments(packet: &mut Packet, next: SeqNumber) {
    let size = u32::from(packet.segment_size);
    let is_before = |packet: &Packet| {
        let range = packet.sequence();
        range.is_some_and(|range| range.start + size <= next && range.end > next)
    };
    while size > 0 && is_before(packet) && packet.drop_first_segment() {}
}

/// Returns true for a packet that only acknowledges what has come in one of these flows.
pub(crate) fn acknowledges(packet: &Packet, is_of: impl FnOnce(&FlowKey) -> bool) -> bool {
    let Some(ip) = packet.ip().filter(|ip| ip.fragment().is_none()) else {
        return false;
    };
    let Transport::Tcp(tcp) = ip.transport() else {
        return false;
    };
    let is_plain = tcp.sequence().is_empty() && !tcp.closes();
    is_plain && is_of(&FlowKey::of(&ip).reversed())
}

/// Returns true for a packet of one of these flows of which the next gateway has a copy. There is none of what did not
/// come by the home, and of what is sent again: the mobile host may lack that.
pub(crate) fn is_copied(packet: &Packet, begun: &Begun) -> bool {
    let copied = packet.flow().and_then(|flow| begun.get(&flow));
    let both = copied.zip(packet.sequence());
    both.is_some_and(|(copied, range)| range.end > copied.start && range.end <= copied.end)
}

#[cfg(test)]
#[path = "copies_tests.rs"]
mod tests;
