//! A connection from its request to its answer.

use std::net::{IpAddr, SocketAddr};

use association::{Reason, StreamAddresses, StreamId, StreamRequest};
use redirector::{BindingId, Content, Input, Side, Stream as SocketId};
use units::{Duration, Instant};
use wire::flow::Ends;
use wire::packet::Packet;

use super::{Splitter, half};
use crate::connection::{Connection, Half, Requester, Sending, Stage, StreamName};
use crate::{Connect, End, Output, Refusal, Request, Scope, SocketRequest, SystemRequest};

/// Longest time until a connection that was let in is accepted: as long as a kernel waits for the third segment of a
/// handshake (Linux: five repetitions of the second).
const ACCEPTING: Duration = Duration::from_secs(63);

/// A request for a connection that waits until the driver has located an address.
#[derive(Debug)]
pub(crate) enum Question {
    /// The request is a packet.
    Packet(Request),
    /// The request is a stream.
    Stream(StreamName, Ends),
}

impl Question {
    pub(super) fn is_of(&self, name: StreamName) -> bool {
        matches!(self, Self::Stream(own, _) if *own == name)
    }

    pub(super) fn is_of_peer(&self, peer: usize) -> bool {
        matches!(self, Self::Stream(own, _) if own.0 == peer)
    }

    pub(super) fn is_owned_by(&self, peer: usize) -> bool {
        matches!(self, Self::Packet(request) if request.owner == peer)
    }
}

impl<C: Content + Default> Splitter<C> {
    /// Handles a packet that requests a connection.
    pub(super) fn requested(&mut self, request: Request) {
        let known = self.table.by_ends.get(&request.ends);
        let known = known.and_then(|id| self.table.connections.get(id));
        match known.map(|connection| &connection.stage) {
            // The request is repeated before it is answered.
            Some(Stage::Asking(Requester::Packet { sequence, .. }))
                if *sequence == request.sequence => {}
            // It is this splitter's own request to a mobile host, in the name of the requesting host.
            Some(Stage::Asking(_)) => self.send(Side::Mobile, request.packet),
            // The listener has it already.
            Some(_) => self.outputs.push_back(Output::ToHost(request.packet)),
            None => {
                self.table.ended.forget(&request.ends);
                let host = fixed_host(request.asker, &request.ends);
                self.locate(host, Question::Packet(request));
            }
        }
    }

    /// Requests from the driver the location of an address.
    pub(super) fn locate(&mut self, address: IpAddr, question: Question) {
        let number = self.admission.asked;
        self.admission.asked += 1;
        self.admission.questions.insert(number, question);
        self.ask_system(SystemRequest::Locate { number, address });
    }

    pub(super) fn located(&mut self, now: Instant, number: u64, is_local: bool) {
        match self.admission.questions.remove(&number) {
            Some(Question::Packet(request)) => self.packet_located(now, request, is_local),
            Some(Question::Stream(name, ends)) => self.stream_located(now, name, ends, is_local),
            None => {}
        }
    }

    fn packet_located(&mut self, now: Instant, request: Request, is_local: bool) {
        let (ends, sequence) = (request.ends, request.sequence);
        let translated = request.asker == Side::Mobile && self.is_translated(ends.destination.ip());
        let choices = &mut self.admission.choices;
        let chosen = |choice| choices.splits(ends, sequence, choice);
        if is_local || translated || !request.choice.is_none_or(chosen) {
            return self.pass(request);
        }
        let crossing = self.crossings.get(&request.owner);
        let is_chosen = crossing.is_some_and(|crossing| crossing.scope == Scope::Chosen);
        let needs_stream = self.end == End::Mobile || is_chosen;
        if needs_stream && self.peer_with_streams(request.owner, &ends).is_none() {
            return self.pass(request);
        }
        if request.asker == Side::Fixed
            && self.end.hop_side() == Side::Mobile
            && !self.admission.guard.admits(now, ends.source.ip())
        {
            self.counters.challenged += 1;
            let challenge = self.secret.challenge(&request.packet, &ends, sequence);
            return self.outputs.extend(challenge.map(Output::ToHost));
        }
        let by = Requester::Packet {
            sequence,
            packet: request.packet,
        };
        // A packet for which there is no room is repeated later, and then there may be room.
        let connection = Connection::asked(ends, request.asker, request.owner, by);
        self.ask(now, connection);
    }

    /// Forwards a request as a packet.
    fn pass(&mut self, request: Request) {
        self.send(request.asker.other(), request.packet);
    }

    /// Sends a packet towards a side.
    fn send(&mut self, side: Side, packet: Packet) {
        self.outputs.push_back(if side == self.end.hop_side() {
            Output::ToHop(packet)
        } else {
            Output::ToHost(packet)
        });
    }

    fn stream_located(&mut self, now: Instant, name: StreamName, ends: Ends, is_local: bool) {
        // A gateway leaves connections to its own addresses to packets, since it has a firewall for those, and
        // programs that listen for itself alone. A mobile host accepts connections to itself only.
        let refusal = match self.end {
            End::Gateway { .. } if is_local || self.is_translated(ends.destination.ip()) => {
                Some(Refusal::NotSplit.reason())
            }
            End::Mobile if !is_local => Some(Refusal::HostUnreachable.reason()),
            // The request of a connection that is over may come late, and without translation the packets of the two
            // connections could not be told apart. The host repeats a SYN that it still needs an answer to.
            End::Mobile | End::Gateway { transparent: true }
                if self.table.by_ends.contains_key(&ends) =>
            {
                Some(Reason::Busy)
            }
            _ => None,
        };
        if let Some(reason) = refusal {
            self.counters.refused += 1;
            return self.refuse_stream(name, reason);
        }
        let side = self.end.hop_side();
        let connection = Connection::asked(ends, side, name.0, Requester::Stream(name));
        let is_split = self.crossings.contains_key(&name.0);
        let id = is_split.then(|| self.ask(now, connection)).flatten();
        match id {
            Some(id) => drop(self.table.by_stream.insert(name, id)),
            None => self.refuse_stream(name, Reason::Busy),
        }
    }

    /// Returns true for an address of a mobile host if addresses are translated: the connection would seem to come
    /// from the gateway.
    fn is_translated(&self, address: IpAddr) -> bool {
        self.end == (End::Gateway { transparent: false })
            && self.owner(address.to_canonical()).is_some()
    }

    /// Begins a connection. Returns its identifier if there is room for it.
    fn ask(&mut self, now: Instant, connection: Connection) -> Option<BindingId> {
        let id = BindingId(self.table.next_id);
        self.table.next_id += 1;
        self.counters.asked += 1;
        let (side, owner, ends) = (connection.asker, connection.owner, connection.ends);
        let host = fixed_host(side, &ends);
        if side == Side::Mobile
            && let Some(other) = self.admission.shares.make_room(now, owner, host)
        {
            self.give_up(other);
        }
        if !self.admission.shares.take(now, id, owner, side, host) {
            self.counters.without_room += 1;
            return None;
        }
        self.table.by_ends.insert(ends, id);
        self.events.push_back(Input::Arrived {
            stream: half(id, side),
            destination: ends.destination,
        });
        self.table.connections.insert(id, connection);
        Some(id)
    }

    /// Evicts a half-open connection to make room. If a packet requested it, the sender repeats the request.
    fn give_up(&mut self, id: BindingId) {
        self.counters.without_room += 1;
        let Some(connection) = self.table.connections.get(&id) else {
            return;
        };
        let reset = Input::Reset(half(id, connection.asker.other()));
        if let Stage::Asking(Requester::Stream(name)) = connection.stage {
            self.refuse_stream(name, Reason::Busy);
        }
        self.events.push_back(reset);
    }

    pub(super) fn ask_stream(&mut self, peer: usize, request: StreamRequest<C>) {
        self.outputs.push_back(Output::Stream { peer, request });
    }

    pub(super) fn refuse_stream(&mut self, (peer, id): StreamName, reason: Reason) {
        self.ask_stream(peer, StreamRequest::Refuse(id, reason));
    }

    /// Begins the connection to the destination.
    pub(super) fn connect(&mut self, id: SocketId, destination: SocketAddr) {
        let Some(connection) = self.table.connections.get(&id.binding) else {
            return;
        };
        let (owner, ends) = (connection.owner, connection.ends);
        let crosses_hop = id.side == self.end.hop_side();
        if crosses_hop && let Some(peer) = self.peer_with_streams(owner, &ends) {
            return self.open(id, peer, ends);
        }
        // To a mobile host, with the address of the requesting host.
        let is_named = match self.end {
            End::Gateway { transparent } => transparent || crosses_hop,
            End::Mobile if crosses_hop => return self.refuse(id, Refusal::HostUnreachable),
            End::Mobile => true,
        };
        self.set_half(id, Half::Socket(Sending::Open));
        let connect = Connect {
            destination,
            source: is_named.then_some(ends.source),
            crosses_hop,
        };
        self.ask_system(SystemRequest::Socket(id, SocketRequest::Connect(connect)));
    }

    /// Returns the peer across the hop if it has streams that can carry a connection between these ends.
    fn peer_with_streams(&self, owner: usize, ends: &Ends) -> Option<usize> {
        let crossing = self.crossings.get(&owner)?;
        crossing.carries(ends.source.ip()).then_some(owner)
    }

    /// Opens a stream across the hop.
    fn open(&mut self, id: SocketId, peer: usize, ends: Ends) {
        let Some(addresses) = StreamAddresses::new(ends.destination, ends.source) else {
            return self.refuse(id, Refusal::NoAnswer);
        };
        let number = id.binding.0;
        let name = (peer, StreamId::Opened(number));
        self.ask_stream(peer, StreamRequest::Open { number, addresses });
        self.table.by_stream.insert(name, id.binding);
        if let Some(connection) = self.table.connections.get_mut(&id.binding) {
            connection.stream = Some(name);
        }
        self.set_half(id, Half::Stream(name, Sending::Open));
    }

    pub(super) fn set_half(&mut self, id: SocketId, half: Half) {
        if let Some(connection) = self.table.connections.get_mut(&id.binding) {
            *connection.half(id.side) = Some(half);
        }
    }

    /// Handles an unreachable destination of the connection between these ends.
    pub(super) fn no_route(&mut self, ends: Ends, refusal: Refusal) {
        let id = self.table.by_ends.get(&ends).copied();
        let connection = id.and_then(|id| Some((id, self.table.connections.get(&id)?)));
        if let Some((id, connection)) = connection
            && matches!(connection.stage, Stage::Asking(_))
        {
            self.refuse(half(id, connection.asker.other()), refusal);
        }
    }

    /// Handles a refusal by the destination, or on the path to it.
    pub(super) fn refuse(&mut self, id: SocketId, refusal: Refusal) {
        self.counters.refused += 1;
        if let Some(connection) = self.table.connections.get(&id.binding)
            && let Stage::Asking(by) = &connection.stage
        {
            let side = connection.asker;
            match by {
                Requester::Packet { packet, .. } => {
                    if let Some(answer) = refusal.answer(packet) {
                        self.send(side, answer);
                    }
                }
                Requester::Stream(name) => self.refuse_stream(*name, refusal.reason()),
                Requester::Accepted => {}
            }
        }
        self.reset_half(id);
        self.events.push_back(Input::Reset(id));
    }

    /// Leaves a connection to packets, since the gateway accepts no streams for the destination, such as itself: the
    /// request is forwarded, as are all packets that follow it.
    pub(super) fn leave_to_packets(&mut self, id: SocketId) {
        if let Some(connection) = self.table.connections.get(&id.binding)
            && let Stage::Asking(Requester::Packet { packet, .. }) = &connection.stage
        {
            let packet = packet.clone();
            self.outputs.push_back(Output::ToHop(packet));
        }
        self.events.push_back(Input::Reset(id));
    }

    /// Handles a connection that the listener has accepted.
    pub(super) fn accepted(&mut self, now: Instant, ends: Ends) {
        if self.accepts_at_once {
            return self.accept_at_once(now, ends);
        }
        let id = self.table.by_ends.get(&ends).copied();
        let connection = id.and_then(|id| Some((id, self.table.connections.get(&id)?)));
        let let_in = connection.filter(|(_, connection)| matches!(connection.stage, Stage::LetIn));
        let Some((id, connection)) = let_in else {
            self.counters.strangers += 1;
            return self.ask_system(SystemRequest::Dismiss(ends));
        };
        let id = half(id, connection.asker);
        self.adopt(ends, id);
    }

    fn adopt(&mut self, ends: Ends, id: SocketId) {
        self.ask_system(SystemRequest::Adopt(ends, id));
        self.join(id, Half::Socket(Sending::Open));
    }

    fn accept_at_once(&mut self, now: Instant, ends: Ends) {
        let sides = [(Side::Mobile, ends.source), (Side::Fixed, ends.destination)];
        let mut sides = sides.into_iter();
        let found = sides.find_map(|(asker, mobile)| Some((asker, self.owner(mobile.ip())?)));
        let id = found.and_then(|(asker, owner)| {
            let connection = Connection::asked(ends, asker, owner, Requester::Accepted);
            Some(half(self.ask(now, connection)?, asker))
        });
        match id {
            Some(id) => self.adopt(ends, id),
            None => self.ask_system(SystemRequest::Dismiss(ends)),
        }
    }

    /// Joins the requesting half to the connection.
    fn join(&mut self, id: SocketId, joined: Half) {
        let Some(connection) = self.table.connections.get_mut(&id.binding) else {
            return;
        };
        connection.stage = Stage::Joined;
        *connection.half(id.side) = Some(joined);
        let finished_early = connection.finished_early;
        self.counters.joined += 1;
        self.counters.on_streams += u64::from(connection.stream.is_some());
        let owner = connection.owner;
        self.admission.shares.stands(id.binding, owner);
        self.table.deadlines.clear(id.binding);
        if finished_early {
            self.finish(id);
        }
    }

    /// Lets the request in after the destination has answered.
    pub(super) fn let_in(&mut self, now: Instant, id: BindingId) {
        let Some(connection) = self.table.connections.get_mut(&id) else {
            return;
        };
        let asker = half(id, connection.asker);
        match std::mem::replace(&mut connection.stage, Stage::LetIn) {
            Stage::Asking(Requester::Packet { packet, .. }) => {
                self.outputs.push_back(Output::ToHost(packet));
                self.table.deadlines.set(id, now + ACCEPTING);
            }
            Stage::Asking(Requester::Stream(name)) => {
                self.ask_stream(name.0, StreamRequest::Accept(name.1));
                self.join(asker, Half::Stream(name, Sending::Open));
            }
            // The request came only once.
            stage => connection.stage = stage,
        }
    }
}

/// Returns the address of the fixed host of a connection that `asker` requested.
pub(crate) fn fixed_host(asker: Side, ends: &Ends) -> IpAddr {
    match asker {
        Side::Mobile => ends.destination.ip(),
        Side::Fixed => ends.source.ip(),
    }
}
