//! The search of a mobile host for its gateway.

use crate::places::PlaceState;
use crate::{Output, Role};
use units::Instant;
use wire::address::HopAddress;

use super::Host;

impl Host {
    /// Records a datagram to a peer. Only a mobile host searches for a peer, its gateway.
    pub(crate) fn seek(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        let may_seek = self.role == Role::Mobile
            && matches!(peer.endpoint, Some(HopAddress::Udp(_) | HopAddress::Tls(_)));
        let is_hopeful =
            peer.presence.is_linked() && !peer.reach.is_shut() && !peer.is_refused(now);
        if may_seek && peer.search.sent(now, is_hopeful) {
            self.outputs.push_back(Output::Seek { peer: index });
        }
        if self.role == Role::Mobile {
            self.log_trouble(now, index);
            self.watched(index, |watch| watch.sent(now));
        }
        self.way_was_used(now, index);
    }

    /// Records why an address of a peer cannot be used, if it is one; only a mobile host chooses among several.
    pub(crate) fn note_place(&mut self, now: Instant, at: HopAddress, state: PlaceState) {
        if self.role == Role::Mobile {
            for (_, peer) in self.peers.iter_mut() {
                let others = &mut peer.search.others;
                if peer.endpoint == Some(at) || others.has(at) {
                    others.note(now, at, state);
                }
            }
        }
    }

    /// Records that a peer was `before` at another address than it is now.
    pub(crate) fn note_move(&mut self, now: Instant, index: usize, before: Option<HopAddress>) {
        let peer = &mut self.peers[index];
        let left = before.filter(|before| peer.endpoint != Some(*before) && !before.is_group());
        let others = &mut peer.search.others;
        if let Some(at) = left.filter(|at| self.role == Role::Mobile && !others.has(*at)) {
            others.note(now, at, PlaceState::Silent);
        }
    }

    /// Adds an address where a peer may be. Only a datagram from there proves it; so handshakes and probes of the
    /// session go there too, and nothing else.
    pub(crate) fn found(&mut self, now: Instant, index: usize, at: HopAddress) {
        let Some(peer) = self.peers.get_mut(index) else {
            return;
        };
        let is_news = peer.endpoint != Some(at) && !at.is_group();
        if !is_news || self.role != Role::Mobile || !peer.search.add(now, at) {
            return;
        }
        let id = peer.id;
        // A mobile host initiates the handshakes with its peers.
        let _ = self.endpoint.retry_now(now, id);
        self.follow_sessions(now, None);
    }
}
