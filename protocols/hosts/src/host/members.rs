//! The peers of a host, which may change at any time. A change of one peer changes nothing for the others.

use association::TcpMethod;
use machine::Machine;
use session::{Decline, PublicKey};
use split::{Mobile, Scope};
use thiserror::Error;
use units::{Bytes, Instant};

use super::Host;
use crate::leases::Leases;
use crate::peer::Peer;
use crate::site::SiteMessage;
use crate::streams::StreamMaker;
use crate::terms;
use crate::{Event, EventKind, Output, Role, SitePart, SplitTerms, TcpTerms};

/// Returns true if a mobile host with its home here can have no other gateway as the other end of its hop: that has
/// state that does not move, or a secret of these two hosts.
pub(super) fn stays_at_home(settings: &crate::Peer) -> bool {
    let is_by_packets = settings.tcp == TcpTerms::Choose(TcpMethod::Arq)
        && settings.split == SplitTerms::Never
        && settings.preshared.is_none();
    settings.membership.site == SitePart::Alone && !is_by_packets
}

/// Reason why a host does not admit a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AdmitError {
    /// Its keys cannot be used.
    #[error(transparent)]
    Session(#[from] session::PeerError),
    /// The memory for all peers is too little.
    #[error("the peers need {0} of memory at least")]
    Memory(Bytes),
    /// The shared air has as many peers as it can have.
    #[error("65,536 peers share the air already")]
    AirIsFull,
    /// The peer's connections are to be split, and the host splits none.
    #[error("this host does not split TCP; restart it with a peer whose TCP is split")]
    NoSplit,
    /// Another gateway tells of the peer, whose inner addresses are taken.
    #[error(
        "its inner addresses are those of another mobile host here; give the gateways of a site different networks"
    )]
    Taken,
}

impl Host {
    /// Adds a peer of the configuration, or replaces the settings of the peer that has its key.
    pub(crate) fn admit_configured(
        &mut self,
        now: Instant,
        settings: crate::Peer,
        scope: Option<Scope>,
    ) {
        let public = settings.public;
        self.make_way(now, &settings.prefixes);
        if settings.membership.site == SitePart::Gateway {
            self.list_gone_on(&settings);
        }
        self.admit(now, settings, scope);
        if let Some(index) = self.index_listed(&public) {
            self.peers[index].site.teller = None;
            self.list(now, index);
        }
    }

    /// Has a gateway that has gone on from the key that the configuration has now listed by that.
    fn list_gone_on(&mut self, settings: &crate::Peer) {
        let has_had = |(index, peer): (usize, &Peer)| {
            let is_it = peer.settings.name == settings.name && self.is_gateway(index);
            let has_had = peer.keys.former == Some(settings.public);
            (is_it && has_had && peer.site.teller.is_none()).then_some(index)
        };
        let is_unknown = self.index_listed(&settings.public).is_none();
        let found = is_unknown.then(|| self.peers.iter().find_map(has_had));
        if let Some(index) = found.flatten() {
            self.peers.is_listed_anew(index);
            self.peers.goes_on(index, settings.public);
        }
    }

    /// Adds a peer, or replaces the settings of the peer that has its key; announces the result.
    pub(super) fn admit(&mut self, now: Instant, settings: crate::Peer, scope: Option<Scope>) {
        let name = settings.name.clone();
        let mut settings = settings;
        if let SitePart::Guest(home) = &mut settings.membership.site
            && let Some(index) = self.peers.gone_on(home)
        {
            *home = self.peers[index].settings.public;
        }
        let admitted = match self.index_listed(&settings.public) {
            None => self.add(now, settings, scope).map(|()| EventKind::Admitted),
            Some(index) => {
                let (listed, present) = (settings.public, self.peers[index].settings.public);
                let is_told = self.peers[index].site.teller.is_some();
                let former = self.listed_key(index);
                let settings = crate::Peer {
                    public: present,
                    ..settings
                };
                let changed = self.change(now, index, settings, scope);
                if let Some(index) = self.index_with(&present) {
                    self.peers.goes_on(index, listed);
                    if listed != former {
                        self.store_told();
                    }
                    if listed != present && !is_told {
                        // It was not stored then.
                        let (of, key) = (listed, present);
                        self.outputs.push_back(Output::Claim { of, key });
                    }
                }
                changed
            }
        };
        let kind = admitted.unwrap_or_else(EventKind::NotAdmitted);
        self.outputs
            .push_back(Output::Event(Event { peer: name, kind }));
    }

    /// Removes the peer that has this key, if there is one; who has the key gets this reason from now on.
    pub(crate) fn revoke(&mut self, now: Instant, key: &PublicKey, reason: Decline) {
        let known = self.index_listed(key);
        let present = known.map_or(*key, |index| self.peers[index].settings.public);
        let former = known.and_then(|index| self.peers[index].keys.former);
        let has_gone_on = present != *key && reason == Decline::Replaced;
        if let Some(index) = known.filter(|_| !has_gone_on) {
            self.announce(index, EventKind::Revoked);
            self.remove(now, index);
            self.return_home(now);
        }
        if self.role == Role::Gateway {
            // The present key of a peer that has gone on with it is none of these.
            for key in [Some(present), former, Some(*key)].into_iter().flatten() {
                self.endpoint.decline(key, reason);
            }
        }
        self.hear_again(now);
    }

    /// Has the home serve this mobile host again, if the gateway that did is no peer any more.
    fn return_home(&mut self, now: Instant) {
        let is_served = self.peers.get(self.mobile.gateway).is_some();
        if self.role == Role::Mobile
            && !is_served
            && let Some(home) = self.own_home()
        {
            self.mobile.gateway = home;
            self.route_to(home);
            if self.peers[home].presence.is_linked() {
                // There are keys for a comparison or a move, and others show that it is to serve.
                self.leave_gateway(now, home);
            }
            self.connect(now, home);
        }
    }

    pub(super) fn index_with(&self, key: &PublicKey) -> Option<usize> {
        let id = self.endpoint.peer_with(key)?;
        self.peers.index_of(id)
    }

    /// Adds a peer.
    pub(super) fn add(
        &mut self,
        now: Instant,
        settings: crate::Peer,
        scope: Option<Scope>,
    ) -> Result<(), AdmitError> {
        if scope.is_some() && self.splitter.is_none() {
            return Err(AdmitError::NoSplit);
        }
        let own = match self.role {
            Role::Mobile => terms::of_all(),
            Role::Gateway => terms::of_all() | terms::of_gateway(stays_at_home(&settings)),
        };
        let id = self.endpoint.add_peer(session::PeerConfig {
            public_key: settings.public,
            preshared_key: settings.preshared.clone(),
            role: self.session_role(&settings),
            features: settings.tcp.features()
                | settings.split.features()
                | settings.resolver.features()
                | own,
        })?;
        let index = id.number();
        if let Err(error) = self.make_room(now, index, &settings) {
            // It was added just now.
            let _ = self.endpoint.remove_peer(id);
            return Err(error);
        }
        self.peers.insert(Peer::new(settings, id));
        if self.peers.get(self.mobile.gateway).is_none() {
            self.mobile.gateway = index;
        }
        self.occupy(now, index, scope);
        if self.mobile.begun {
            self.connect(now, index);
        }
        Ok(())
    }

    /// Returns who begins handshakes with a peer: the mobile host, and of two gateways that with the lower key.
    fn session_role(&self, settings: &crate::Peer) -> session::Role {
        let begins = match (self.role, settings.membership.site) {
            (Role::Gateway, SitePart::Gateway) => {
                self.endpoint.public_key().bytes() < settings.public.bytes()
            }
            (role, _) => role == Role::Mobile,
        };
        if begins {
            session::Role::Initiator
        } else {
            session::Role::Responder
        }
    }

    /// Begins to connect to a peer, if it is this host that does; a mobile host in a site to one gateway only.
    pub(super) fn connect(&mut self, now: Instant, index: usize) {
        if self.role == Role::Gateway || self.gateway_index() == Some(index) {
            // A responder is refused, which need not connect.
            let _ = self.endpoint.connect(now, self.peers[index].id);
        }
    }

    /// Takes memory and a place on the air for a new peer.
    fn make_room(
        &mut self,
        now: Instant,
        index: usize,
        settings: &crate::Peer,
    ) -> Result<(), AdmitError> {
        if let Some(sharing) = &mut self.sharing
            && !sharing.air.join(now, index, settings.weight)
        {
            return Err(AdmitError::AirIsFull);
        }
        let least = self.least_of(settings);
        let room = self.leases.as_mut().map(|leases| leases.join(index, least));
        room.unwrap_or(Ok(())).map_err(|least| {
            if let Some(sharing) = &mut self.sharing {
                sharing.air.leave(now, index);
            }
            AdmitError::Memory(least)
        })
    }

    fn least_of(&self, settings: &crate::Peer) -> Bytes {
        let streams = self.bearer.streams;
        let streams = streams.map_or(Bytes::ZERO, |maker: StreamMaker| maker.memory_most());
        settings.memory_least(streams, self.bearer.snoop_cache)
    }

    /// Routes a peer's inner addresses to it, and notifies the splitter of them.
    fn occupy(&mut self, now: Instant, index: usize, scope: Option<Scope>) {
        self.peers[index].streams.scope = scope;
        let serves = self.role == Role::Gateway || self.gateway_index() == Some(index);
        if serves {
            self.route_to(index);
        }
        if let (Some(splitter), Some(scope)) = (&mut self.splitter, scope) {
            let prefixes = &self.peers[index].settings.prefixes;
            let mobile = Mobile::of_prefixes(index, prefixes, scope);
            splitter.handle_input(now, split::Input::MobileJoined(mobile));
        }
    }

    /// Replaces the settings of a peer; the hop to it begins anew where they cannot change otherwise.
    fn change(
        &mut self,
        now: Instant,
        index: usize,
        settings: crate::Peer,
        scope: Option<Scope>,
    ) -> Result<EventKind, AdmitError> {
        let peer = &self.peers[index];
        let anew = scope != peer.streams.scope || !settings.continues(&peer.settings);
        if anew {
            if scope.is_some() && self.splitter.is_none() {
                return Err(AdmitError::NoSplit);
            }
            let (least, former) = (self.least_of(&settings), self.least_of(&peer.settings));
            let needed = |leases: &Leases| leases.without_room(least, former);
            if let Some(needed) = self.leases.as_ref().and_then(needed) {
                return Err(AdmitError::Memory(needed));
            }
            if peer.settings.name != settings.name {
                // Those who know it by that name must not wait for it.
                self.announce(index, EventKind::Revoked);
            }
            let keys = self.peers[index].keys.before_change();
            let public = settings.public;
            self.remove(now, index);
            self.add(now, settings, scope)?;
            if let Some(index) = self.index_with(&public) {
                self.peers[index].keys = keys;
            }
        } else {
            if settings.prefixes != peer.settings.prefixes {
                self.end_exits(index);
            }
            self.vacate(index);
            if let Some(sharing) = &mut self.sharing {
                sharing.air.join(now, index, settings.weight);
            }
            self.peers[index].settings = settings;
            self.occupy(now, index, scope);
        }
        Ok(EventKind::Changed { anew })
    }

    /// Routes a peer's inner addresses to it.
    pub(super) fn route_to(&mut self, index: usize) {
        for (network, length) in &self.peers[index].settings.prefixes {
            self.routes.add(*network, *length, index);
        }
    }

    /// Takes its inner addresses from a peer.
    pub(super) fn vacate(&mut self, index: usize) {
        for (network, length) in &self.peers[index].settings.prefixes {
            self.routes.remove(*network, *length, index);
        }
    }

    /// Removes a peer and all that is kept for it, after a goodbye. Its connections are reset.
    pub(super) fn remove(&mut self, now: Instant, index: usize) {
        self.end_moves_of(now, index);
        self.end_exits(index);
        self.peers.homes.forget(index);
        self.unlist(now, index);
        self.end_relay(now, index);
        if self.is_gateway(index) {
            self.send_site_message(now, index, &SiteMessage::Dismissed);
        }
        let id = self.peers[index].id;
        // The peer is known, and only others are refused.
        let _ = self.endpoint.leave(now, id);
        self.follow_sessions(now, None);
        if let Some(splitter) = &mut self.splitter {
            splitter.handle_input(now, split::Input::MobileLeft { peer: index });
        }
        self.follow_splitter(now);
        self.vacate(index);
        self.agenda.remove(index);
        if let Some(leases) = &mut self.leases {
            leases.leave(index);
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.air.leave(now, index);
            sharing.changed.retain(|changed| *changed != index);
        }
        let _ = self.endpoint.remove_peer(id);
        self.peers.remove(index);
    }
}
