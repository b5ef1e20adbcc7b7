//! What the sessions with peers report: keys that are made, renewed or lost.

use association::{Association, TcpMethod};
use planted::Bug;
use session::Route;
use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::ethernet;

use super::Host;
use crate::peer::around_relay;
use crate::site::Member;
use crate::{EventKind, Role, terms};

/// Time for which a mobile host keeps its streams after its gateway has said that it ends: another process may go on
/// with them. Afterwards they are reset.
const SUCCESSION: Duration = Duration::from_secs(10);

impl Host {
    /// Carries out the outputs of the sessions.
    pub(crate) fn follow_sessions(&mut self, now: Instant, from: Option<HopAddress>) {
        while let Some(output) = self.endpoint.poll_output() {
            match output {
                session::Output::Transmit {
                    peer,
                    route,
                    datagram,
                } => {
                    let whose = self.peers.index_of(peer);
                    let to = match route {
                        Route::Reply => from,
                        Route::Peer => whose.and_then(|index| self.peers[index].endpoint),
                        Route::Anywhere => whose.and_then(|index| self.sought(index)),
                    };
                    let index = whose.filter(|_| route != Route::Reply);
                    self.tap_session(whose, to, &datagram);
                    self.transmit(now, index, to, &datagram);
                }
                session::Output::Event(event) => self.session_changed(now, &event, from),
            }
        }
    }

    fn session_changed(&mut self, now: Instant, event: &session::Event, from: Option<HopAddress>) {
        let (id, kind, features) = match *event {
            session::Event::Established {
                peer,
                peer_features,
                begins_anew: fresh,
                ..
            } => (peer, EventKind::Established { fresh }, peer_features),
            session::Event::KeyShared { peer } => (peer, EventKind::KeyShared, 0),
            session::Event::FormerKeyUsed { peer } => (peer, EventKind::FormerKeyUsed, 0),
            session::Event::StampRefused { peer, behind } => {
                (peer, EventKind::StampRefused { behind }, 0)
            }
            session::Event::Left { peer } => (peer, EventKind::Left, 0),
            session::Event::Expired { peer } => (peer, EventKind::Expired, 0),
            session::Event::Declined { peer, .. } | session::Event::OtherVersion { peer, .. } => {
                return self.turned_away(now, peer, event);
            }
        };
        let Some(index) = self.peers.index_of(id) else {
            return;
        };
        let is_fresh = kind == (EventKind::Established { fresh: true });
        let refused = is_fresh
            .then(|| self.began_anew(now, index, event, from))
            .flatten();
        let peer = &mut self.peers[index];
        match event {
            session::Event::Established { lasted, .. } => {
                peer.established(now, is_fresh, *lasted);
            }
            session::Event::KeyShared { .. } => {
                // Two hosts may go on for days; the log has it once.
                if peer.signs.key_is_shared_from(now) {
                    return;
                }
            }
            session::Event::FormerKeyUsed { .. } => {
                peer.keys.knows_former = true;
                self.vouch(now, index);
            }
            session::Event::StampRefused { .. }
            | session::Event::Declined { .. }
            | session::Event::OtherVersion { .. } => {}
            session::Event::Expired { .. } if planted::is(Bug::ExpiryIsTheEnd) => {
                self.part(now, index);
            }
            session::Event::Expired { .. } => peer.presence.expired(now),
            session::Event::Left { .. } => {
                if self.role == Role::Mobile {
                    self.suspend_streams(now, index, Some(now + SUCCESSION));
                }
                self.part(now, index);
                self.home_has_left(now, index);
            }
        }
        for kind in [Some(kind), refused].into_iter().flatten() {
            if !self.is_aside(index, &kind) {
                self.announce(index, kind);
            }
        }
        if let session::Event::Left { .. } | session::Event::Expired { .. } = event {
            let has_left = matches!(event, session::Event::Left { .. });
            self.guest_is_away(index, has_left);
        }
        self.link(now, index);
        if let session::Event::Established { .. } = event {
            self.established(now, index, features, is_fresh);
        }
    }

    /// Begins what there must be keys for. `is_fresh` is true if the association has begun anew.
    fn established(&mut self, now: Instant, index: usize, features: u64, is_fresh: bool) {
        self.gateway_established(now, index, is_fresh);
        if is_fresh {
            self.peers[index].site.remains = terms::remains(features);
            self.begin_with_reader(now, index, features);
            self.gateway_began_anew(now, index);
        }
        if !self.is_only_compared(index) {
            self.begin_inquiry(now, index, features);
        }
        self.claim_again(now);
        self.mobile.comparisons.has_keys(now, index);
    }

    /// Makes a new association with a peer after a handshake; returns the event if it refused something.
    fn began_anew(
        &mut self,
        now: Instant,
        index: usize,
        handshake: &session::Event,
        from: Option<HopAddress>,
    ) -> Option<EventKind> {
        let session::Event::Established {
            epoch,
            peer_features: features,
            ..
        } = *handshake
        else {
            return None;
        };
        let is_only_compared = self.is_only_compared(index);
        let keepalive = self.mobile.keepalive.as_mut();
        if let Some(keepalive) = keepalive.filter(|_| !is_only_compared) {
            keepalive.is_answered = terms::answers_about_bindings(features);
        }
        let is_of_site = self.peers.are_of_site() || terms::remains(features);
        let peer = &mut self.peers[index];
        let method = peer.settings.tcp.agreed(features);
        let profile = peer.settings.split.agreed(features);
        let streams = self.bearer.streams.zip(profile);
        let agreed = streams.map(|(_, profile)| profile);
        if peer.streams.go_on(agreed, features) {
            self.suspend_streams(now, index, None);
        }
        let peer = &mut self.peers[index];
        let place = peer.endpoint.or(from);
        let mut fresh = self.bearer.association(place, method, &peer.settings);
        if is_of_site {
            fresh = fresh.with_overhead_up_to(around_relay() + ethernet::HEADER_BYTES);
        }
        if let Some((maker, profile)) = streams {
            let name = format!("{}/{}", peer.settings.name, peer.streams.life);
            fresh = maker.equip(fresh, profile, &name);
        }
        let peer = &mut self.peers[index];
        let former = peer.association.take().map(|mut former| {
            fresh.inherit(&mut former);
            former
        });
        peer.association = Some(Box::new(fresh));
        peer.site.is_void = is_only_compared;
        if let Member::Guest(guest) = &mut peer.site.member {
            guest.service.has_other_keys = guest.service.is_here;
        }
        if let Some(sharing) = &mut self.sharing {
            // A silence of the former association ends here: none of its frames is acknowledged any more.
            sharing.air.is_heard(now, index);
        }
        if let Some(leases) = &mut self.leases {
            leases.end(index);
        }
        let refused = match peer.settings.tcp.refused(method) {
            Some(chosen) => Some(EventKind::TcpRefused { chosen }),
            None => peer
                .settings
                .split
                .is_refused(profile)
                .then_some(EventKind::StreamsRefused),
        };
        self.renew_streams(now, index, agreed, epoch, features);
        self.go_on_anew(now, index, former);
        refused
    }

    /// Has what waits for a peer cross by its new association: the peer may have lost its state, but the connections
    /// are those of its kernel, or of the hosts behind it, and are shown to it. Where TCP repairs itself, it does so
    /// here, too. Gateways count what goes to each other, and begin anew.
    fn go_on_anew(&mut self, now: Instant, index: usize, former: Option<Box<Association>>) {
        let is_repaired = self.associated(now, index).tcp_method() == TcpMethod::Arq;
        let former = former.filter(|_| is_repaired && !self.is_gateway(index));
        let packets = former.map(|former| former.withdraw(None).packets);
        let packets = packets.unwrap_or_default();
        if !packets.is_empty() {
            self.takes_over(now, index);
        }
        for packet in packets {
            self.hand_in(now, index, packet);
        }
        self.associated(now, index).revive_connections(now);
    }
}
