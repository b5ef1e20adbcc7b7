//! The machine.

mod ask;
mod carry;
mod ended;
mod streams;

use std::collections::{BTreeMap, VecDeque};

use machine::{Deadlines, Machine};
use redirector::{BindingId, Content, Redirector, Side, Stream as SocketId};
use units::{Duration, Instant};
use wire::flow::Ends;

use crate::choices::Choices;
use crate::connection::{Connection, Stage, StreamName};
use crate::counters::{Carried, SplitStatus};
use crate::crossing::PeerPath;
use crate::guard::{Guard, Secret};
use crate::shares::Shares;
use crate::{Config, Counters, End, Found, Input, Mobile, Output, SystemEvent, SystemRequest};
use ask::Question;
pub(crate) use ask::fixed_host;
use ended::Ended;

/// Longest time to write the buffered bytes of a connection at its end.
pub(crate) const ENDING: Duration = Duration::from_secs(120);

/// All split connections of one end of the hop; see the crate's documentation.
#[derive(Debug)]
pub struct Splitter<C> {
    pub(crate) end: End,
    /// Mobile hosts whose connections are split, by the index of the peer.
    pub(crate) crossings: BTreeMap<usize, PeerPath>,
    pub(crate) secret: Secret,
    accepts_at_once: bool,
    pub(crate) redirector: Redirector<C>,
    pub(crate) table: Table,
    pub(crate) admission: Admission,
    /// True if the packets of this host's connections are diverted to its listener.
    diverts: bool,
    counters: Counters,
    /// Times at which the suspended streams of peers end.
    pub(crate) suspended: Deadlines<usize>,
    /// Inputs for the redirector.
    pub(crate) events: VecDeque<redirector::Input<C>>,
    outputs: VecDeque<Output<C>>,
}

/// Connections by their identifiers, by their ends and by their streams.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) connections: BTreeMap<BindingId, Connection>,
    pub(crate) by_ends: BTreeMap<Ends, BindingId>,
    pub(crate) by_stream: BTreeMap<StreamName, BindingId>,
    /// Identifier of the next connection.
    pub(crate) next_id: u64,
    /// Times at which connections are given up in their stage, if it has a limit.
    pub(crate) deadlines: Deadlines<BindingId>,
    ended: Ended,
}

/// Admission of connections, and the choice of their way.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) shares: Shares,
    guard: Guard,
    choices: Choices,
    /// Requests that wait until the driver has located an address.
    questions: BTreeMap<u64, Question>,
    /// Number of requests to locate so far.
    asked: u64,
}

impl<C: Content + Default> Splitter<C> {
    /// Returns a splitter without connections.
    pub fn new(config: Config) -> Self {
        let mobiles = config.mobiles.into_iter();
        Self {
            redirector: Redirector::new(redirector::Config {
                buffer: config.buffer,
                bindings: config.connections,
                idle: config.idle,
            }),
            end: config.end,
            crossings: mobiles
                .map(|mobile| (mobile.peer, PeerPath::new(mobile)))
                .collect(),
            secret: Secret(config.secret),
            accepts_at_once: config.accepts_at_once,
            table: Table::default(),
            admission: Admission {
                shares: Shares::new(config.connections),
                guard: Guard::new(),
                choices: Choices::default(),
                questions: BTreeMap::new(),
                asked: 0,
            },
            diverts: false,
            counters: Counters::default(),
            suspended: Deadlines::default(),
            events: VecDeque::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Returns the counters and choices.
    pub fn status(&self) -> SplitStatus {
        let done = self.redirector.counters();
        SplitStatus {
            counters: Counters {
                open: self.redirector.bindings() as u64,
                finished: done.finished,
                reset: done.reset,
                idle: done.idle,
                carried: Carried {
                    bytes_to_mobiles: done.to_mobile,
                    bytes_to_fixed: done.to_fixed,
                },
                ..self.counters
            },
            choices: self.admission.choices.status(),
        }
    }

    fn found(&mut self, now: Instant, found: Found) {
        match found {
            Found::Request(request) => self.requested(request),
            Found::NoRoute(ends, refusal) => self.no_route(ends, refusal),
            Found::Strayed(packet) => self.strayed(now, packet),
            Found::Proven(host) => self.admission.guard.know(now, host),
        }
    }

    fn system(&mut self, now: Instant, event: SystemEvent<C>) {
        match event {
            SystemEvent::Located { number, is_local } => self.located(now, number, is_local),
            SystemEvent::NotDiverted => self.not_diverted(),
            SystemEvent::Accepted(ends) => self.accepted(now, ends),
            SystemEvent::Socket(socket, event) => self.socket(now, socket, event),
        }
    }

    fn ask_system(&mut self, request: SystemRequest<C>) {
        self.outputs.push_back(Output::System(request));
    }

    fn forget(&mut self, id: BindingId) {
        self.table.deadlines.clear(id);
        let Some(connection) = self.table.connections.remove(&id) else {
            return;
        };
        self.admission.shares.give_back(id, connection.owner);
        if let Some(name) = connection.stream
            && self.table.by_stream.get(&name) == Some(&id)
        {
            self.table.by_stream.remove(&name);
        }
    }

    fn mobile_joined(&mut self, mobile: Mobile) {
        match self.crossings.get_mut(&mobile.peer) {
            Some(known) => known.networks = mobile.networks,
            None => drop(self.crossings.insert(mobile.peer, PeerPath::new(mobile))),
        }
    }

    fn mobile_left(&mut self, peer: usize) {
        self.streams_ended(peer);
        self.crossings.remove(&peer);
        let questions = &mut self.admission.questions;
        questions.retain(|_, question| !question.is_owned_by(peer));
        let connections = self.table.connections.iter();
        let own = connections.filter(|(_, connection)| connection.owner == peer);
        let own: Vec<_> = own.map(|(id, _)| *id).collect();
        for id in own {
            self.expire(id);
        }
    }

    fn expire(&mut self, id: BindingId) {
        self.table.deadlines.clear(id);
        let connection = self.table.connections.get(&id);
        if connection.is_some_and(|connection| matches!(connection.stage, Stage::Ending)) {
            for side in [Side::Fixed, Side::Mobile] {
                self.reset_half(half(id, side));
            }
            self.forget(id);
        } else {
            let broken = redirector::Input::Reset(half(id, Side::Mobile));
            self.events.push_back(broken);
        }
    }
}

impl<C: Content + Default> Machine for Splitter<C> {
    type Input = Input<C>;
    type Output = Output<C>;

    fn handle_input(&mut self, now: Instant, input: Input<C>) {
        match input {
            Input::Found(found) => self.found(now, found),
            Input::MobileJoined(mobile) => self.mobile_joined(mobile),
            Input::MobileLeft { peer } => self.mobile_left(peer),
            Input::StreamsBegan {
                peer,
                profile,
                scope,
            } => self.streams_began(peer, profile, scope),
            Input::StreamsSuspended { peer, until } => self.suspend_streams(peer, until),
            Input::Resume { owner, state } => self.resume(now, owner, state),
            Input::StreamsEnded { peer } => self.streams_ended(peer),
            Input::Stream { peer, news } => self.stream(now, peer, news),
            Input::System(event) => self.system(now, event),
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.table.deadlines.first_due(now) {
            self.expire(id);
        }
        while let Some(peer) = self.suspended.first_due(now) {
            self.give_up_streams(peer);
        }
        self.redirector.handle_timeout(now);
        self.settle(now);
    }

    fn poll_output(&mut self) -> Option<Output<C>> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let own = machine::earlier(self.table.deadlines.first(), self.suspended.first());
        machine::earlier(self.redirector.poll_timeout(), own)
    }
}

pub(crate) fn half(binding: BindingId, side: Side) -> SocketId {
    SocketId { binding, side }
}
