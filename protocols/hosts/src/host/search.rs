//! The search of a mobile host for its gateway, and of a gateway for another one that has moved to another machine.

use crate::places::PlaceState;
use crate::{Output, Role};
use units::Instant;
use wire::address::HopAddress;

use super::Host;

impl Host {
    /// Records a datagram to a peer, and looks for that elsewhere if it does not answer.
    pub(crate) fn seek(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        let may_ask = self.role == Role::Mobile
            && matches!(peer.endpoint, Some(HopAddress::Udp(_) | HopAddress::Tls(_)));
        let may_seek = may_ask || !peer.settings.membership.elsewhere.is_empty();
        if may_seek && peer.search.sent(now, peer.doubt(now)) {
            if may_ask {
                self.outputs.push_back(Output::Seek { peer: index });
            }
            self.look_elsewhere(now, index);
        }
        if self.role == Role::Mobile {
            self.log_trouble(now, index);
            self.watched(index, |watch| watch.sent(now));
        }
        self.way_was_used(now, index);
    }

    /// Looks for a peer at its other addresses, if it has some; at the first one, too, if it was found at another one.
    fn look_elsewhere(&mut self, now: Instant, index: usize) {
        let settings = &self.peers[index].settings;
        let elsewhere = &settings.membership.elsewhere;
        let first = settings.endpoint.filter(|_| !elsewhere.is_empty());
        let all = first.iter().chain(elsewhere);
        for at in all.copied().collect::<Vec<_>>() {
            self.found(now, index, at);
        }
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
        if !is_news || !peer.search.add(now, at) {
            return;
        }
        let id = peer.id;
        // A responder is refused: the other end initiates the handshakes.
        let _ = self.endpoint.retry_now(now, id);
        self.follow_sessions(now, None);
    }
}
