//! The presence of peers, as datagrams and sessions show it.

use crate::peer::Peer;
use crate::places::PlaceState;
use crate::presence::HandOff;
use crate::site::Member;
use crate::{EventKind, Role};
use session::DropCause;
use units::{Duration, Instant};
use wire::address::HopAddress;

use super::Host;

impl Host {
    /// Records that the network reports no process at this address. It may start again soon.
    pub(crate) fn port_refused(&mut self, now: Instant, at: HopAddress) {
        let there = |(_, peer): &(usize, &mut Peer)| peer.endpoint == Some(at);
        let mut refused = Vec::new();
        self.note_place(now, at, PlaceState::Refused);
        for (index, peer) in self.peers.iter_mut().filter(there) {
            peer.signs.refused = Some(now);
            if let Some(ways) = &mut peer.search.ways {
                ways.refused(now);
                self.agenda.ways.set(index, ways.due());
            }
            // A gateway does not initiate and is refused: there is nothing to retry.
            let _ = self.endpoint.retry_soon(now, peer.id);
            refused.push(index);
        }
        for index in refused {
            self.log_trouble(now, index);
        }
    }

    /// Records that a datagram from this address was dropped.
    pub(crate) fn dropped(&mut self, now: Instant, from: HopAddress, cause: DropCause) {
        let there = |(_, peer): &(usize, &mut Peer)| {
            peer.endpoint == Some(from) && !peer.presence.is_linked()
        };
        if cause == DropCause::BadHandshake {
            for (_, peer) in self.peers.iter_mut().filter(there) {
                peer.signs.unopened = Some(now);
            }
        }
    }

    /// Records a datagram from a peer; `found` is its address if it need not be sought any more.
    pub(crate) fn heard(&mut self, now: Instant, index: usize, found: Option<HopAddress>) {
        let peer = &mut self.peers[index];
        peer.presence.heard_at = Some(now);
        if let Some(at) = found {
            peer.search.found(at);
        }
        if let Some(moving) = peer.presence.moving.take_if(|moving| moving.arrived) {
            let lasted = now.since(moving.since);
            self.announce(index, EventKind::HandoffEnded { lasted });
        }
    }

    /// Returns the destination for a datagram to a peer that others may see too.
    pub(crate) fn sought(&self, index: usize) -> Option<HopAddress> {
        let peer = &self.peers[index];
        peer.presence.sought.or(peer.endpoint)
    }

    /// Begins the hand-off of a mobile host. A gateway keeps its place.
    pub(crate) fn link_changing(&mut self, now: Instant) {
        self.try_all(now);
        self.begin_hand_off(now, Duration::ZERO);
    }

    /// Begins the hand-off of a mobile host on the hop to each peer, `within` this time.
    pub(super) fn begin_hand_off(&mut self, now: Instant, within: Duration) {
        for index in self.peers.indices() {
            let peer = &mut self.peers[index];
            if self.role == Role::Gateway || !peer.presence.is_linked() {
                continue;
            }
            let since = peer.presence.moving.map_or(now, |moving| moving.since);
            let arrived = false;
            if peer
                .presence
                .moving
                .replace(HandOff { since, arrived })
                .is_none()
            {
                self.announce(index, EventKind::HandoffBegan { within });
            }
        }
    }

    /// Completes the change of place.
    pub(crate) fn link_up(&mut self, now: Instant) {
        for (index, peer) in self.peers.iter_mut() {
            if let Some(moving) = &mut peer.presence.moving {
                moving.arrived = true;
            }
            peer.search.network_changed(now);
            if let Some(ways) = &mut peer.search.ways {
                ways.network_changed(now);
                self.agenda.ways.set(index, ways.due());
            }
            // A gateway does not initiate and is refused: there is nothing to retry.
            let _ = self.endpoint.retry_now(now, peer.id);
        }
        self.forget_binding(now);
        self.mobile.comparisons.hasten(now);
        self.paths_may_have_moved(now);
        self.try_all(now);
    }

    /// Notifies all peers that this host is about to stop.
    pub(crate) fn leave(&mut self, now: Instant) {
        for index in self.peers.indices() {
            // These peers are known, and only others are refused.
            let _ = self.endpoint.leave(now, self.peers[index].id);
            self.follow_sessions(now, None);
            self.part(now, index);
        }
    }

    /// Ends the link with a peer. Data in flight will not be requested again, and a gateway does not know the next
    /// address of its mobile host.
    pub(crate) fn part(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        peer.presence.left(now);
        peer.presence.moving = None;
        if self.role == Role::Gateway && !matches!(peer.site.member, Member::Gateway) {
            peer.endpoint = None;
        }
        if let Some(mut former) = peer.association.take() {
            let new = peer.unlinked(now, &self.bearer, Some(&mut former));
            peer.association = Some(Box::new(new));
        }
        if let Some(leases) = &mut self.leases {
            leases.end(index);
        }
        self.agenda.touch(index, &self.peers);
        if self.peers[index].streams.suspended.is_none() {
            self.end_streams(now, index);
        }
    }
}
