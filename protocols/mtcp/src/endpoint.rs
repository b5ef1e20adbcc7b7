//! The endpoint: all connections with one peer, as a machine.

use std::collections::VecDeque;
use std::sync::Arc;

use machine::{Machine, RandomStream};
use redirector::Content;
use units::{Bytes, Instant};

use crate::config::PACKET_MIN;
use crate::connection::{Connection, Identity, Phase, Status};
use crate::counters::{Connections, Refused};
use crate::offer::PeerProfile;
use crate::packet::{Cid, Control, Data, Kind};
use crate::state::{ConnectionState, ResumeError};
use crate::table::Table;
use crate::tick::Ticks;
use crate::{
    Addresses, Config, ConfigError, ConnectionId, Counters, Input, Output, Packet, Reason,
};

/// Packets of unknown connections that are answered within a tick; more are only counted.
const STRAYS_ANSWERED: u32 = 32;

/// One host's end of the hop, with all its MTCP connections; see the crate's documentation.
#[derive(Debug)]
pub struct Endpoint<C> {
    config: Arc<Config>,
    random: RandomStream,
    now: Instant,
    /// Bytes that the hop takes now; unbounded until the driver reports them.
    room: Option<u64>,
    /// Longest packet that the hop carries now.
    longest: u16,
    table: Table<C>,
    /// Profile that the peer is known to support.
    known: PeerProfile,
    outputs: VecDeque<Output<C>>,
    /// Number of the next connection that arrives.
    arrivals: u64,
    /// Last tick in which stray packets were answered, and the number of answers.
    strays: (u64, u32),
    connections: Connections,
    refused: Refused,
}

impl<C: Content + Clone> Endpoint<C> {
    /// Returns an endpoint without connections. `random` generates connection IDs, so it must be unpredictable to
    /// others.
    ///
    /// # Errors
    /// If the configuration is invalid ([`Config::check`]).
    pub fn new(config: Config, random: RandomStream) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            now: Instant::ZERO,
            room: None,
            longest: u16::MAX,
            table: Table::new(config.room_to_grow()),
            config: Arc::new(config),
            random,
            known: PeerProfile::default(),
            outputs: VecDeque::new(),
            arrivals: 0,
            strays: (0, 0),
            connections: Connections::default(),
            refused: Refused::default(),
        })
    }

    /// Returns the counters of all connections.
    pub fn counters(&self) -> Counters {
        Counters {
            traffic: self.table.traffic(),
            connections: self.connections,
            refused: self.refused,
        }
    }

    /// Returns the number of connections, lingering ones included.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// Returns the memory of its connections: written and unacknowledged data, received and unread data, and
    /// themselves.
    pub fn memory(&self) -> Bytes {
        Bytes::new(self.table.memory())
    }

    /// Returns the status of a connection, or none if it does not exist.
    pub fn status(&self, id: ConnectionId) -> Option<Status> {
        let connection = self.table.get(self.table.own_of(id)?)?;
        Some(connection.status())
    }

    /// Returns the connections that have not ended.
    pub fn ids(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        self.table.ids()
    }

    /// Takes an established connection out of this endpoint, so that another endpoint can resume it: nothing is sent,
    /// and packets that still arrive for it are ignored for as long as a finished connection lingers. To be called
    /// after the outputs are drained. Returns none if there is no such connection, it is not established yet, or it
    /// has ended.
    pub fn suspend(&mut self, now: Instant, id: ConnectionId) -> Option<ConnectionState<C>> {
        self.now = now;
        let own = self.table.own_of(id)?;
        self.table
            .get(own)
            .filter(|connection| connection.is_whole())?;
        let until = now + self.config.timing.linger;
        let mut connection = self.table.take_out(own, now, until)?;
        Some(connection.suspend())
    }

    /// Resumes a connection that was taken out elsewhere, under an identifier that no other open one has; it need not
    /// be the former one. Its outputs report anew how much can be read and written, and whether the peer has finished.
    /// Its earlier traffic is not in [`counters`](Self::counters).
    ///
    /// # Errors
    /// If the state contradicts itself, or the endpoint has no room for the connection.
    pub fn resume(
        &mut self,
        now: Instant,
        id: ConnectionId,
        state: ConnectionState<C>,
    ) -> Result<(), ResumeError> {
        self.now = now;
        state.check()?;
        let (ConnectionId::Opened(number) | ConnectionId::Arrived(number)) = id;
        if self.table.has(id) {
            return Err(ResumeError::NumberTaken(number));
        }
        let known = self.table.own_of_peer(state.peer).is_some();
        if known || self.table.get(state.own).is_some() {
            return Err(ResumeError::NameTaken(state.own.0));
        }
        if self.table.len() >= self.config.limits.connections {
            return Err(ResumeError::Busy);
        }
        let connection = Connection::resume(id, state, &self.config, now)?;
        self.table.put_in(connection)?;
        if let ConnectionId::Arrived(number) = id {
            self.arrivals = self.arrivals.max(number.saturating_add(1));
        }
        Ok(())
    }

    fn open(&mut self, number: u64, addresses: Addresses) {
        let id = ConnectionId::Opened(number);
        if self.table.has(id) {
            return;
        }
        let limits = &self.config.limits;
        let full = self.table.len() >= limits.connections;
        let refusal = if full || self.table.half_open().opened >= limits.half_open {
            self.refused.busy += 1;
            Some(Reason::Busy)
        } else if addresses.least_profile() > self.config.profile {
            self.refused.unwanted += 1;
            Some(Reason::Profile)
        } else {
            None
        };
        if let Some(reason) = refusal {
            self.outputs.push_back(Output::Reset(id, reason));
            return;
        }
        self.connections.opened += 1;
        let identity = self.identity(id, addresses);
        let own = self.config.profile;
        let offer = self.known.offer(own, &addresses, self.now);
        let connection = Connection::open(&identity, &self.config, offer, self.now);
        self.table.insert(connection);
    }

    fn identity(&mut self, id: ConnectionId, addresses: Addresses) -> Identity {
        Identity {
            id,
            own: self.table.free_name(&mut self.random),
            addresses,
            first: self.random.next_u64() as u32,
        }
    }

    /// Applies `change` to a connection that the driver knows.
    fn with(&mut self, id: ConnectionId, change: impl FnOnce(&mut Connection<C>)) {
        let own = self.table.own_of(id);
        if let Some(connection) = own.and_then(|own| self.table.change(own)) {
            change(connection);
        }
    }

    fn arrive(&mut self, packet: Packet<C>, number: Option<u64>) {
        match packet {
            Packet::Data(data) => self.arrive_data(data, number),
            Packet::Control(control) => self.arrive_control(&control),
        }
    }

    fn arrive_data(&mut self, data: Data<C>, number: Option<u64>) {
        let own = data.connection;
        let answer = Control {
            profile: data.profile,
            kind: Kind::Reset(Reason::Unknown),
            lean: self.config.lean,
            connection: Cid::NONE,
            reverse: own,
            sequence: data.acknowledgment,
            acknowledgment: 0,
            buffer: 0,
            packet: self.config.packet,
            shift: 0,
            addresses: Addresses::listening(([0, 0, 0, 0], 0).into()),
        };
        let Some(connection) = self.table.change(own) else {
            self.refused.strays += 1;
            if !self.table.has_moved(own, self.now) {
                self.answer_stray(&answer);
            }
            return;
        };
        let (opening, profile) = (connection.phase == Phase::Opening, data.profile);
        if connection.arrive(data, number, self.now) {
            self.known.hear(profile, self.now);
            self.table.grow(own);
        } else {
            self.refused.strays += 1;
            if opening {
                // It belongs to an older connection with the same ID.
                self.answer_stray(&answer);
            }
        }
    }

    fn arrive_control(&mut self, control: &Control) {
        let now = self.now;
        match control.kind {
            Kind::Syn => self.arrive_syn(control),
            Kind::SynAck => {
                let own = control.connection;
                let connection = self.table.change(own);
                match connection.map(|connection| connection.arrive_syn_ack(control, now)) {
                    Some(true) => self.known.learn(control.profile, now),
                    Some(false) => {}
                    None if self.table.has_moved(own, now) => self.refused.strays += 1,
                    None => self.answer_unknown(control),
                }
            }
            Kind::Pending => {
                if let Some(connection) = self.table.change(control.connection) {
                    connection.arrive_pending(control, now);
                }
            }
            Kind::Reset(reason) => self.arrive_reset(control, reason),
            // A gateway asks for every connection when a fixed host does, so it notes no listeners
            // (docs/decisions/0012).
            Kind::Listen => self.answer_stray(&Control {
                kind: Kind::Unlisten(Reason::Refused),
                ..*control
            }),
            Kind::Listening | Kind::Unlisten(_) => self.refused.strays += 1,
        }
    }

    fn arrive_syn(&mut self, syn: &Control) {
        if syn.reverse == Cid::NONE {
            self.refused.strays += 1;
            return;
        }
        let known = self.table.own_of_peer(syn.reverse);
        if let Some(connection) = known.and_then(|own| self.table.change(own)) {
            if connection.was_asked_by(syn) {
                connection.repeat_syn();
            } else {
                self.refused.strays += 1;
                connection.challenge(self.now);
            }
            return;
        }
        if self.table.has_moved_peer(syn.reverse, self.now) {
            // A late copy of the SYN of the connection that was taken out.
            self.refused.strays += 1;
            return;
        }
        if let Some(reason) = self.refusal(syn) {
            self.answer_stray(&Control {
                kind: Kind::Reset(reason),
                connection: syn.reverse,
                reverse: Cid::NONE,
                sequence: 0,
                acknowledgment: syn.sequence.wrapping_add(1),
                ..*syn
            });
            return;
        }
        self.connections.arrived += 1;
        self.known.hear(syn.profile, self.now);
        let id = ConnectionId::Arrived(self.arrivals);
        self.arrivals += 1;
        let identity = self.identity(id, syn.addresses);
        let connection = Connection::arrived(&identity, syn, &self.config, self.now);
        self.table.insert(connection);
    }

    /// Returns the reason to refuse a connection that the peer opens, or none.
    fn refusal(&mut self, syn: &Control) -> Option<Reason> {
        let limits = &self.config.limits;
        let full = self.table.len() >= limits.connections;
        if full || self.table.half_open().arrived >= limits.half_open {
            self.refused.busy += 1;
            return Some(Reason::Busy);
        }
        let mismatch =
            syn.addresses.least_profile() > self.config.profile || (syn.lean && self.config.lean);
        let reason = mismatch.then_some(Reason::Profile);
        self.refused.unwanted += u64::from(reason.is_some());
        reason
    }

    fn arrive_reset(&mut self, control: &Control, reason: Reason) {
        let own = match control.connection {
            Cid::NONE => self.table.own_of_peer(control.reverse),
            own => Some(own),
        };
        let now = self.now;
        let Some(connection) = own.and_then(|own| self.table.change(own)) else {
            self.refused.strays += 1;
            return;
        };
        if !connection.arrive_reset(control, reason, now) {
            self.refused.forged_resets += 1;
        }
    }

    /// Reports to the peer that the connection does not exist here.
    fn answer_unknown(&mut self, control: &Control) {
        self.refused.strays += 1;
        self.answer_stray(&Control {
            kind: Kind::Reset(Reason::Unknown),
            connection: control.reverse,
            reverse: control.connection,
            sequence: control.acknowledgment,
            acknowledgment: control.sequence.wrapping_add(1),
            ..*control
        });
    }

    /// Answers a packet that belongs to no connection, at a limited rate so that strangers cannot make this end busy.
    fn answer_stray(&mut self, answer: &Control) {
        let tick = Ticks::new(&self.config.timing).count(self.now);
        if self.strays.0 != tick {
            self.strays = (tick, 0);
        }
        if self.strays.1 < STRAYS_ANSWERED {
            self.strays.1 += 1;
            self.outputs
                .push_back(Output::Packet(Packet::Control(*answer)));
        }
    }
}

impl<C: Content + Clone> Machine for Endpoint<C> {
    type Input = Input<C>;
    type Output = Output<C>;

    fn handle_input(&mut self, now: Instant, input: Input<C>) {
        self.now = now;
        match input {
            Input::Packet(packet) => self.arrive(packet, None),
            Input::Numbered(number, packet) => self.arrive(packet, Some(number)),
            Input::Room(bytes) => self.room = Some(bytes),
            Input::Longest(longest) => self.longest = longest.max(PACKET_MIN),
            Input::RoundTrip(round_trip) => {
                Arc::make_mut(&mut self.config).timing.expected = Some(round_trip);
            }
            Input::Damaged => self.refused.damaged += 1,
            Input::Open { number, addresses } => self.open(number, addresses),
            Input::Accept(id) => self.with(id, |connection| connection.accept(now)),
            Input::Refuse(id, reason) => self.with(id, |connection| {
                if connection.phase == Phase::Waiting {
                    connection.abort(reason, now);
                }
            }),
            Input::Write(id, content) => self.with(id, |connection| connection.write(content)),
            Input::Read(id, count) => self.with(id, |connection| connection.read(count)),
            Input::Close(id) => self.with(id, Connection::close),
            Input::Abort(id, reason) => self.with(id, |connection| connection.abort(reason, now)),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some(connection) = self.table.next_due(now) {
            connection.time_out(now);
        }
    }

    fn poll_output(&mut self) -> Option<Output<C>> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        loop {
            let room = self.room != Some(0);
            let (own, connection) = self.table.next_ready(room)?;
            let longest = room.then_some(self.longest);
            if let Some(output) = connection.next_output(longest, self.now) {
                if let (Some(room), Output::Packet(packet)) = (&mut self.room, &output) {
                    *room = room.saturating_sub(packet.length() as u64);
                    let now = self.now;
                    self.table.end_turn(own, now, &mut self.connections);
                }
                return Some(output);
            }
            self.table.settle(own, &mut self.connections);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.table.deadline()
    }
}
