//! A mobile host at its home.

use std::collections::{BTreeMap, VecDeque};

use association::Report;
use planted::Bug;
use units::{Duration, Instant};
use wire::flow::FlowKey;
use wire::packet::Packet;

use super::copies::{Begun, Copying, Progress, acknowledges, is_copied};
use super::exchange::{Exchange, Patience};
use super::exits::Flows;
use super::message::{Step, Yielded};

/// Time for which packets wait for a former gateway: a round trip longer than that waits for them. Then they go on,
/// perhaps out of order. A mobile host that flees a silent gateway waits for 2 s.
const PATIENCE: Patience = Patience {
    least: Duration::from_millis(300),
    most: Duration::from_millis(1_500),
    trips: 5,
};
/// Most bytes of packets that wait.
const HELD_MOST: usize = 4 << 20;
/// Most flows of datagrams that are told apart.
const FLOWS_MOST: usize = 64;
/// Time in which a gateway that returns packets says that the mobile host has left it: that repeats it after 100 ms.
/// Others come by routes of the site, and were on their way when the mobile host came there.
const UNSAID: Duration = Duration::from_millis(150);
/// Longest time for which the next gateway is waited for: a mobile host gives up its move then.
const UNCLAIMED: Duration = Duration::from_secs(5);

/// State of a mobile host at its home.
#[derive(Debug, Default)]
pub(crate) struct Home {
    /// Index of the gateway that serves it; `None` if this one does.
    pub(crate) place: Option<usize>,
    /// Number of its latest attachment.
    pub(crate) number: u64,
    /// What the former gateway's association has delivered, for an answer that is repeated.
    pub(crate) answer: Option<Report>,
    /// Its packets between here and each gateway that has served it.
    exchanges: BTreeMap<usize, Exchange>,
    /// Its flows that leave at other gateways.
    pub(crate) flows: BTreeMap<usize, Flows>,
    /// Its move from another gateway, until that has ceased.
    pub(crate) moving: Option<Box<Moving>>,
    /// The copies that are sent to its next gateway.
    pub(crate) copying: Option<Box<Copying>>,
}

/// A move from another gateway.
#[derive(Debug)]
pub(crate) struct Moving {
    pub(crate) from: usize,
    /// Index of the next gateway; `None` for this one.
    pub(crate) to: Option<usize>,
    pub(crate) stage: Stage,
    /// The attachment that follows it.
    pub(crate) next: Option<Request>,
    /// What the mobile host has delivered.
    pub(crate) report: Option<Report>,
    /// What the former gateway has said when the mobile host left it, before it was asked to cease.
    pub(crate) left: Option<Departure>,
    /// Numbers of segments that the former gateway has sent, once it has ceased.
    pub(crate) awaited: Option<Yielded>,
    /// Time from which nothing is waited for any more.
    pub(crate) due: Instant,
    held: Held,
    /// Flows with which the next gateway has begun by copies: what the former one has of them is there.
    begun: Begun,
}

/// How far a move has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The mobile host has left the former gateway, and no other one has asked for it.
    Left,
    /// The same, for so long that packets to it are dropped.
    Away,
    /// The next gateway has asked for it.
    Asked,
    /// The next gateway serves it, before all of the former one has come.
    Served,
}

/// An attachment that has been asked for.
#[derive(Debug)]
pub(crate) struct Request {
    /// Index of the gateway; `None` for this one.
    pub(crate) to: Option<usize>,
    pub(crate) step: Step,
}

/// What a gateway says of a mobile host that has left it.
#[derive(Debug)]
pub(crate) struct Departure {
    /// The attachment to the next gateway, and what was delivered from the mobile host.
    pub(crate) step: Step,
    /// Segments from it that were carried.
    pub(crate) carried: u64,
}

/// Packets that wait for the end of a move.
#[derive(Debug, Default)]
struct Held {
    /// Those that the former gateway has returned go first.
    returned: VecDeque<Packet>,
    fresh: VecDeque<Packet>,
    bytes: usize,
    /// Flows of datagrams, and whether all of each has come from the former gateway.
    flows: BTreeMap<FlowKey, bool>,
}

/// What becomes of a packet to a mobile host that moves.
pub(crate) enum Course {
    /// It waits, and this marker follows what the former gateway has of its flow.
    Waits(Packet, Option<Packet>),
    /// It goes on to the next gateway, as all of its flow has come.
    GoesOn(Packet),
}

impl Home {
    /// Returns the time until which what a former gateway at this round trip still has is waited for, if it has been
    /// silent since then.
    pub(crate) fn waits_until(
        now: Instant,
        silent_since: Instant,
        round_trip: Option<Duration>,
    ) -> Instant {
        now.max(PATIENCE.ends(silent_since, round_trip))
    }

    /// Begins a move from one gateway to another one, or to this one, which ends at the time `due` at the latest.
    pub(crate) fn begin_move(
        &mut self,
        due: Instant,
        from: usize,
        to: Option<usize>,
        report: Option<Report>,
    ) -> &mut Moving {
        self.moving.insert(Box::new(Moving {
            from,
            to,
            stage: Stage::Asked,
            next: None,
            report,
            left: None,
            awaited: None,
            due,
            held: Held::default(),
            begun: Begun::new(),
        }))
    }

    /// Has copies sent to its next gateway, for the attachment with this number, until that has begun to serve it.
    /// Returns false if it moves, as what waits is not sent.
    pub(crate) fn begin_copying(&mut self, now: Instant, to: Option<usize>, number: u64) -> bool {
        let may_begin = self.moving.is_none() && self.place != to && number > self.number;
        let goes_on = self
            .copying
            .as_ref()
            .is_some_and(|copying| copying.is_for(now, to, number));
        if may_begin && !goes_on {
            self.copying = Some(Box::new(Copying::new(now, to, number)));
        }
        may_begin
    }

    /// Notes the flows with which the next gateway has begun by copies, if those were sent for this attachment.
    pub(crate) fn has_begun(
        &mut self,
        now: Instant,
        number: u64,
        to: Option<usize>,
        begun: Vec<Progress>,
    ) {
        let copying = self.copying.as_mut();
        if let Some(copying) = copying.filter(|copying| copying.is_for(now, to, number)) {
            copying.has_begun(begun);
        }
    }

    /// Ends the copies, as this attachment is complete or another one is; returns the flows with which that gateway has
    /// begun.
    pub(crate) fn end_copying(&mut self, now: Instant, number: u64, to: Option<usize>) -> Begun {
        let copying = self.copying.take();
        let Some(copying) = copying.filter(|copying| copying.is_for(now, to, number)) else {
            return Begun::new();
        };
        let (begun, sent) = copying.end();
        if let Some(to) = to {
            self.exchange(to).sent += sent;
        }
        begun
    }

    /// Returns the packets between here and another gateway.
    pub(crate) fn exchange(&mut self, gateway: usize) -> &mut Exchange {
        self.exchanges.entry(gateway).or_default()
    }

    /// Returns the move from this gateway, which has returned something for the mobile host: if it serves that, the
    /// mobile host has left it for one that has not asked yet. That ends soon unless the gateway says so, too.
    pub(crate) fn departure_from(&mut self, now: Instant, gateway: usize) -> Option<&mut Moving> {
        if self.moving.is_none() && self.place == Some(gateway) {
            let moving = self.begin_move(now + UNSAID, gateway, Some(gateway), None);
            moving.stage = Stage::Left;
        }
        self.move_from(gateway)
    }

    /// Notes the gateway that serves the mobile host from now on; `None` if this one does.
    pub(crate) fn is_at(&mut self, place: Option<usize>) {
        self.place = place;
        if let Some(place) = place {
            self.exchange(place).begins_again();
        }
    }

    /// Returns the gateway that serves the mobile host, or that will when what the former one had has come; `None` if
    /// this one does.
    pub(crate) fn next_place(&self) -> Option<usize> {
        match self.moving.as_deref() {
            Some(moving) if moving.stage == Stage::Served => moving.to,
            Some(_) | None => self.place,
        }
    }

    /// Ends what a gateway has to do with it that is none any more. Packets that wait for it are lost.
    pub(crate) fn leave(&mut self, gateway: usize) {
        if let Some(moving) = self.moving.take_if(|moving| moving.from == gateway) {
            self.is_at(moving.to);
        }
        if let Some(moving) = self.moving.as_deref_mut() {
            moving.to = moving.to.filter(|to| *to != gateway);
            moving.next.take_if(|next| next.to == Some(gateway));
        }
        self.place = self.place.filter(|place| *place != gateway);
        self.count_anew(gateway);
    }

    /// Counts anew what goes to a gateway and comes from it: the association with it has begun anew. It may know of no
    /// flows that leave there any more.
    pub(crate) fn count_anew(&mut self, gateway: usize) {
        self.exchanges.remove(&gateway);
        self.flows.remove(&gateway);
        let is_to = |copying: &mut Box<Copying>| copying.to == Some(gateway);
        self.copying.take_if(is_to);
    }

    /// Returns the move from this gateway, if there is one.
    pub(crate) fn move_from(&mut self, gateway: usize) -> Option<&mut Moving> {
        let moving = self.moving.as_deref_mut();
        moving.filter(|moving| moving.from == gateway)
    }

    /// Returns true if this gateway serves the mobile host, or has served it until a move that is not over.
    pub(crate) fn is_served_by(&self, gateway: usize) -> bool {
        match self.moving.as_deref() {
            Some(moving) => moving.from == gateway || moving.serves(gateway),
            None => self.place == Some(gateway) || planted::is(Bug::FormerGatewayIsHeard),
        }
    }

    /// Returns true if this gateway, the next one, may pass on an acknowledgement of the mobile host already.
    pub(crate) fn takes(&self, gateway: usize, packet: &Packet) -> bool {
        let next = self.moving.as_deref();
        let next = next.filter(|moving| moving.to == Some(gateway));
        let is_begun = |flow: &FlowKey| next.is_some_and(|moving| moving.begun.contains_key(flow));
        next.is_some() && acknowledges(packet, is_begun)
    }

    /// Removes and returns the move if it is over: everything from the former gateway has come, or is waited for no
    /// more. Where nobody has asked for the mobile host, what waits for it is dropped.
    pub(crate) fn end_move(&mut self, now: Instant) -> Option<Moving> {
        let moving = self.moving.as_deref_mut()?;
        let exchange = self.exchanges.entry(moving.from).or_default();
        let has_come = moving.awaited.is_some_and(|all| exchange.has(all));
        if !has_come && now < moving.due || moving.stage == Stage::Away {
            return None;
        }
        match moving.stage {
            Stage::Left if moving.left.is_some() => {
                (moving.stage, moving.held) = (Stage::Away, Held::default());
                return None;
            }
            // The gateway that has returned them does not say that it has been left: it would return them again.
            Stage::Left => moving.held.returned.clear(),
            Stage::Away | Stage::Asked | Stage::Served => {}
        }
        if moving.stage != Stage::Left {
            exchange.give_up(moving.awaited);
        }
        // What waits is sent now, and would be copied twice.
        self.copying = None;
        self.moving.take().map(|moving| *moving)
    }

    /// Returns what the former gateway has said if the next one can serve the mobile host from now on: all that the
    /// former one has carried from there has come.
    pub(crate) fn begins_to_serve(&mut self) -> Option<Departure> {
        let moving = self.moving.as_deref_mut()?;
        let exchange = self.exchanges.get(&moving.from);
        let carried = exchange.map_or(0, |exchange| exchange.carried);
        let is_asked = moving.stage == Stage::Asked;
        let left = moving
            .left
            .take_if(|left| is_asked && carried >= left.carried)?;
        moving.stage = Stage::Served;
        Some(left)
    }
}

impl Moving {
    /// Keeps a packet until the former gateway has ceased, or one that it has returned until the next one is known;
    /// returns false if there is no room.
    pub(crate) fn hold(&mut self, packet: Packet, is_returned: bool) -> bool {
        let held = &mut self.held;
        let fits = held.bytes + packet.len() <= HELD_MOST && self.stage != Stage::Away;
        if fits {
            held.bytes += packet.len();
            let queue = if is_returned {
                &mut held.returned
            } else {
                &mut held.fresh
            };
            queue.push_back(packet);
        }
        fits
    }

    /// Decides what becomes of a new packet. A call need not wait until the queue of a download has come from the
    /// former gateway: that returns a marker behind what it has of the call.
    pub(crate) fn course(&mut self, packet: Packet) -> Course {
        let has_next = matches!(self.stage, Stage::Asked | Stage::Served);
        let Some(flow) = packet.flow().filter(|_| has_next) else {
            return Course::Waits(packet, None);
        };
        if self.begun.contains_key(&flow) {
            return Course::GoesOn(packet);
        }
        let flows = &mut self.held.flows;
        match flows.get(&flow) {
            Some(true) => Course::GoesOn(packet),
            None if flows.len() < FLOWS_MOST => {
                let marker = packet.marker();
                if marker.is_some() {
                    flows.insert(flow, false);
                }
                Course::Waits(packet, marker)
            }
            Some(false) | None => Course::Waits(packet, None),
        }
    }

    /// Notes that a marker has come back; returns the packets of its flow that have waited for that.
    pub(crate) fn passed(&mut self, marker: &Packet) -> Vec<Packet> {
        let flow = marker.flow();
        let held = &mut self.held;
        let state = flow.and_then(|flow| held.flows.get_mut(&flow));
        let Some(has_passed) = state.filter(|has_passed| !**has_passed) else {
            return Vec::new();
        };
        *has_passed = true;
        let fresh = std::mem::take(&mut held.fresh).into_iter();
        let (its, others): (Vec<_>, Vec<_>) = fresh.partition(|packet| packet.flow() == flow);
        held.fresh = VecDeque::from(others);
        held.bytes -= its.iter().map(|packet| packet.len()).sum::<usize>();
        its
    }

    /// Notes the flows with which the next gateway has begun by copies. It has what waits of them.
    pub(crate) fn set_begun(&mut self, begun: Begun) {
        self.begun = begun;
        let mut held = std::mem::take(&mut self.held);
        for queue in [&mut held.returned, &mut held.fresh] {
            queue.retain(|packet| !self.is_there(packet));
        }
        let kept = held.returned.iter().chain(&held.fresh);
        held.bytes = kept.map(|packet| packet.len()).sum();
        self.held = held;
    }

    /// Returns true if the next gateway has a copy of this packet.
    pub(crate) fn is_there(&self, packet: &Packet) -> bool {
        is_copied(packet, &self.begun)
    }

    /// Notes the next gateway, or `None` for this one, by this attachment, and the time until which the former one is
    /// waited for; returns the packets that this one has returned.
    pub(crate) fn set_next(
        &mut self,
        due: Instant,
        to: Option<usize>,
        step: &Step,
    ) -> VecDeque<Packet> {
        if self.has_left() {
            self.report.clone_from(&step.report);
        }
        (self.to, self.due, self.stage) = (to, due, Stage::Asked);
        self.left.take_if(|left| left.step.number != step.number);
        // What has come meanwhile has waited, whether its flow had passed or not.
        self.held.flows.clear();
        let returned = std::mem::take(&mut self.held.returned);
        self.held.bytes -= returned.iter().map(|packet| packet.len()).sum::<usize>();
        returned
    }

    /// Notes the attachment that follows this move, unless a later one is known.
    pub(crate) fn follow(&mut self, request: Request) {
        let latest = self.next.as_ref().map_or(0, |next| next.step.number);
        if request.step.number > latest {
            self.next = Some(request);
        }
    }

    /// Returns true if the mobile host has left, and no other gateway has asked for it.
    pub(crate) fn has_left(&self) -> bool {
        matches!(self.stage, Stage::Left | Stage::Away)
    }

    /// Notes what the former gateway says of the mobile host, which it has left.
    pub(crate) fn leaves(&mut self, now: Instant, departure: Departure) {
        if self.stage == Stage::Left {
            self.due = now + UNCLAIMED;
        }
        self.left = Some(departure);
    }

    fn serves(&self, gateway: usize) -> bool {
        self.stage == Stage::Served && self.to == Some(gateway)
    }

    /// Returns the attachment that follows, and the packets that were kept.
    pub(crate) fn end(self) -> (Option<Request>, impl Iterator<Item = Packet>) {
        let Held {
            returned, fresh, ..
        } = self.held;
        (self.next, returned.into_iter().chain(fresh))
    }
}
