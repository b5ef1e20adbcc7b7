//! The state machine of a host.

mod announced;
mod attachment;
mod bindings;
mod claims;
mod comparison;
mod copies;
mod detour;
mod directory;
mod drain;
mod exits;
mod guest;
mod home;
mod keys;
mod members;
mod mobile;
mod presence;
mod proofs;
mod reach;
mod receive;
mod relay;
mod resolver;
pub(crate) mod round;
mod search;
mod send;
mod sessions;
mod sharing;
mod site;
mod stand_in;
mod streams;
mod told;
mod troubles;
mod validation;
mod ways;

use std::cell::Cell;

use association::{Association, LinkEvent};
use machine::Machine;
use planted::Bug;
use redirector::Chunks;
use session::{DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Endpoint, Entropy};
use split::{Origin, Splitter};
use thiserror::Error;
use units::{Bytes, Instant};
use wire::packet::{HEADROOM, Packet};

use crate::agenda::PeerDeadlines;
use crate::detour::Detour;
use crate::keepalive::Keepalive;
use crate::leases::{self, Leases};
use crate::peer::Bearer;
use crate::peers::Peers;
use crate::route::Routes;
use crate::sharing::Sharing;
use crate::site::Comparisons;
use crate::streams::StreamMaker;
use crate::tap::Outputs;
pub(crate) use claims::NextKey;
pub use members::AdmitError;
use mobile::{MobileSide, Moves};

use crate::{Caps, Config, Event, EventKind, Input, MobileTerms, Output, Role};

pub(crate) const TAG: usize = DATA_OVERHEAD_BYTES - DATA_HEADER_BYTES;

/// Reason why a host cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// The configuration of a peer is not valid.
    #[error("peer '{name}': {cause}")]
    Peer {
        /// The peer's name.
        name: String,
        /// The error.
        cause: AdmitError,
    },
    /// The limits on streams are not valid.
    #[error(transparent)]
    Streams(#[from] machine::ConfigError),
    /// The memory for all peers is too little.
    #[error("the peers need {0} of memory at least")]
    Memory(Bytes),
}

/// A mobile host or a gateway.
pub struct Host {
    pub(crate) role: Role,
    pub(crate) endpoint: Endpoint,
    pub(crate) peers: Peers,
    /// The splitter, if TCP is split.
    pub(crate) splitter: Option<Splitter<Chunks>>,
    /// The air, if peers share one; otherwise each has its own.
    pub(crate) sharing: Option<Sharing>,
    pub(crate) routes: Routes,
    pub(crate) agenda: PeerDeadlines,
    pub(crate) bearer: Bearer,
    /// Memory that the peers share, if it is limited.
    pub(crate) leases: Option<Leases>,
    pub(crate) outputs: Outputs,
    pub(crate) counts: Counts,
    pub(crate) mobile: MobileSide,
}

/// Numbers for the status; see [`Status`](crate::Status).
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Counters of what went nowhere.
    pub(crate) packets_unroutable: u64,
    pub(crate) frames_unsent: u64,
    /// The memory of all peers as it was counted last, and when.
    pub(crate) memory: Cell<Option<(Instant, (Bytes, Bytes))>>,
}

impl Host {
    /// Returns a host at rest. `entropy` must be unpredictable in a live process. It starts with the first
    /// [`Input::Wall`], which gives it the time.
    pub fn new(config: Config, mut entropy: Box<dyn Entropy>) -> Result<Self, HostError> {
        let least = config.memory_least();
        if config.memory.is_some_and(|given| given < least) {
            return Err(HostError::Memory(least));
        }
        let mobile = match config.role {
            Role::Mobile => config.mobile,
            Role::Gateway => MobileTerms::default(),
        };
        let maker = |limits| StreamMaker::new(limits, &mut *entropy);
        let streams = config.streams.map(maker).transpose()?;
        let settings = session::Config {
            private_key: config.key,
            wall_clock_at_origin: 0,
            limits: session::Limits::default(),
        };
        let mobiles = config.split.iter().flat_map(|split| &split.mobiles);
        let scopes: Vec<_> = mobiles.map(|mobile| (mobile.peer, mobile.scope)).collect();
        let mut host = Self {
            role: config.role,
            leases: config.memory.map(Leases::new),
            endpoint: Endpoint::new(settings, entropy),
            splitter: config.split.map(Splitter::new),
            sharing: config.shared_air.as_ref().map(Sharing::new),
            peers: Peers::default(),
            routes: Routes::default(),
            agenda: PeerDeadlines::default(),
            bearer: Bearer {
                mtu: config.bearer_mtu,
                rate: config.rate,
                role: config.role,
                snoop_cache: config.snoop_cache,
                is_shared: config.shared_air.is_some(),
                lease: config.memory.map(|_| leases::FLOOR),
                streams,
            },
            outputs: Outputs::default(),
            counts: Counts::default(),
            mobile: MobileSide {
                detour: mobile.detours.then(Detour::new),
                keepalive: mobile.keepalive.then(Keepalive::new),
                comparisons: Comparisons::new(mobile.compares_gateways),
                moves: Moves {
                    gathers: mobile.gathers_copies,
                    ..Moves::default()
                },
                ..MobileSide::default()
            },
        };
        host.peers.homes.exits = config.exits;
        for peer in config.peers {
            let name = peer.name.clone();
            let failed = |cause| HostError::Peer { name, cause };
            host.add(Instant::ZERO, peer, None).map_err(failed)?;
        }
        for (index, scope) in scopes {
            if let Some(peer) = host.peers.get_mut(index) {
                peer.streams.scope = Some(scope);
            }
        }
        for index in host.peers.indices() {
            host.list(Instant::ZERO, index);
        }
        Ok(host)
    }

    /// Sets the wall clock; a mobile host begins to connect.
    fn wall(&mut self, now: Instant, wall: u64) {
        self.endpoint
            .set_wall_clock_at_origin(wall.saturating_sub(now.as_nanos()));
        for (_, peer) in self.peers.iter_mut() {
            peer.signs.clues.wall = wall / 1_000_000_000;
        }
        self.end_idle_exits(now);
        if !self.mobile.begun {
            self.mobile.begun = true;
            for index in self.peers.indices() {
                self.connect(now, index);
            }
        }
    }

    fn packet(&mut self, now: Instant, packet: Packet) {
        if !self.split(now, Origin::Host, &packet) {
            self.route(now, packet);
        }
    }

    pub(crate) fn route(&mut self, now: Instant, packet: Packet) {
        let owner = packet
            .ip()
            .and_then(|ip| self.routes.owner(ip.destination()));
        match owner {
            Some(index) => self.send_to_member(now, index, packet),
            None => self.counts.packets_unroutable += 1,
        }
    }

    /// Adapts the memory that a peer may use to what it holds, and to packets of `more` bytes that come.
    pub(crate) fn lend(&mut self, now: Instant, index: usize, more: usize) {
        let Some(leases) = &mut self.leases else {
            return;
        };
        let peer = &mut self.peers[index];
        let Some(association) = &mut peer.association else {
            return;
        };
        let wanted = association.memory_wanted(more);
        let most = peer.settings.caps.memory.max(Caps::MEMORY_LEAST);
        if let Some(lease) = leases.renew(index, wanted, most) {
            association.handle_input(now, association::Input::Memory(lease));
        }
    }

    /// Returns the association with a peer, which begins now if there is none.
    pub(crate) fn associated(&mut self, now: Instant, index: usize) -> &mut Association {
        self.peers[index].associated(now, &self.bearer)
    }

    pub(crate) fn announce(&mut self, index: usize, kind: EventKind) {
        let peer = self.peers[index].settings.name.clone();
        self.outputs.push_back(Output::Event(Event { peer, kind }));
    }

    /// Seals and checks the outputs of an association; returns the bytes of them on the wire.
    pub(crate) fn forward(&mut self, now: Instant, index: usize) -> Bytes {
        let mut sent = Bytes::ZERO;
        self.lend(now, index, 0);
        self.agenda.touch(index, &self.peers);
        if let Some(sharing) = &mut self.sharing {
            sharing.changed.push(index);
        }
        while let Some(association) = &mut self.peers[index].association
            && let Some(output) = association.poll_output()
        {
            match output {
                association::Output::Frame { frame, ecn } => {
                    sent += association.on_wire(&frame);
                    self.send(now, index, frame, ecn);
                }
                association::Output::Packet(packet) => self.release(now, index, packet),
                association::Output::Streams(news) => self.stream_news(now, index, news),
                // It is left, or has to wait for this host.
                association::Output::Event(LinkEvent::FadeBegan)
                    if self.waits_for_attachment(index) => {}
                association::Output::Event(event) => {
                    let kind = match event {
                        LinkEvent::FadeBegan => EventKind::FadeBegan,
                        LinkEvent::FadeEnded { lasted, kept } => {
                            if let Some(sharing) = &mut self.sharing {
                                sharing.air.is_heard(now, index);
                            }
                            self.mobile.comparisons.hasten(now);
                            EventKind::FadeEnded { lasted, kept }
                        }
                    };
                    self.announce(index, kind);
                }
                association::Output::Silence => {
                    if let Some(sharing) = &mut self.sharing {
                        sharing.air.is_silent(now, index);
                    }
                }
            }
        }
        sent
    }

    /// Passes on a packet that has crossed the hop, if its sender may use its source address.
    fn release(&mut self, now: Instant, index: usize, packet: Packet) {
        if self.is_gateway(index) {
            return self.arrived_from_gateway(now, index, packet);
        }
        let owner = packet.ip().and_then(|ip| self.routes.owner(ip.source()));
        if self.owns(index, owner) || planted::is(Bug::SourceIsBelieved) {
            let Some(packet) = self.arrived_from_guest(now, index, packet) else {
                return;
            };
            if !self.split(now, Origin::Hop, &packet) {
                if self.peers[index].settings.caps.packets.is_some() {
                    self.agenda.round.count(index);
                }
                self.outputs.push_back(Output::Packet(packet));
            }
        } else {
            self.foreign_source(now, index, &packet);
        }
    }
}

impl Machine for Host {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Packet(packet) => self.packet(now, packet),
            Input::Datagram {
                from,
                arrived,
                ecn,
                buffer,
            } => self.datagram(now, from, arrived, ecn, buffer),
            Input::System(event) => self.system(now, event),
            Input::PortRefused(at) => self.port_refused(now, at),
            Input::Wall(wall) => self.wall(now, wall),
            Input::Unreachable(to) => self.refused(now, to),
            Input::Found { peer, at } => self.found(now, peer, at),
            Input::Circumstance(kind, words) => self.circumstance(now, kind, words.as_deref()),
            Input::LinkChanging => self.link_changing(now),
            Input::LinkUp => self.link_up(now),
            Input::HandoffAnnounced { within, gateway } => {
                self.handoff_announced(now, within, gateway.as_ref());
            }
            Input::Path { to, news } => self.path_reported(now, to, news),
            Input::HandOver => self.hand_over(now),
            Input::TakeOver(handover) => self.take_over(now, *handover),
            Input::Leave => self.leave(now),
            Input::Admit { peer, scope } => self.admit_configured(now, *peer, scope),
            Input::Revoke(key, reason) => self.revoke(now, &key, reason),
            Input::ClaimRefused { of, reason } => self.claim_refused(now, &of, reason),
            Input::Keys(keys) => self.replace_keys(now, *keys),
            Input::NextKey(key) => self.begin_claim(now, *key),
            Input::MoveTo(gateway) => self.move_as_asked(now, &gateway),
            Input::Compare => self.mobile.comparisons.begin_now(now),
            Input::ExitsOpen(prefixes) => self.exits_open(&prefixes),
            Input::Told(told) => self.recall(now, told),
            Input::Drain(begins) => self.drain(now, begins),
            Input::Overloaded => self.is_overloaded(now),
            Input::Memory(total) => {
                if let Some(leases) = &mut self.leases {
                    leases.set_total(total);
                }
            }
        }
        self.follow_sessions(now, None);
        self.settle(now);
        self.choose_way(now);
        self.keep_binding(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
        self.follow_sessions(now, None);
        self.try_due(now);
        self.challenge_due(now);
        self.vouch_due(now);
        self.answer_due(now);
        self.inquire(now);
        self.claim(now);
        self.ways_due(now);
        self.announced_due(now);
        self.attach_due(now);
        self.watch_due(now);
        self.compare_due(now);
        self.site_due(now);
        if let Some(splitter) = &mut self.splitter
            && splitter.poll_timeout().is_some_and(|due| due <= now)
        {
            splitter.handle_timeout(now);
        }
        self.act(now);
        if let Some(sharing) = &mut self.sharing {
            sharing.air.handle_timeout(now);
            sharing.changed.extend(self.agenda.wishing(now));
        }
        self.settle(now);
        self.choose_way(now);
        self.keep_binding(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let associations = self.agenda.acts_at(&self.peers);
        let own = machine::earlier(self.endpoint.poll_timeout(), self.next_share());
        let own = machine::earlier(own, self.agenda.tries.first());
        let own = machine::earlier(own, self.agenda.challenges.first());
        let own = machine::earlier(own, self.agenda.vouches.first());
        let own = machine::earlier(own, self.agenda.ways.first());
        let own = machine::earlier(own, self.agenda.site_due());
        let own = machine::earlier(own, self.peers.directories.due.first());
        let split = self.splitter.as_ref().and_then(Splitter::poll_timeout);
        let own = machine::earlier(own, split);
        let own = machine::earlier(own, self.agenda.answers.first());
        let own = machine::earlier(own, self.mobile.due());
        machine::earlier(own, associations)
    }
}

const _: () = assert!(
    HEADROOM >= DATA_HEADER_BYTES,
    "a frame has room for its header"
);
