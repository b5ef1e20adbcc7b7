//! The search of a mobile host for its gateway.

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
        if may_seek && peer.search.sent(now) {
            self.outputs.push_back(Output::Seek { peer: index });
        }
        if self.role == Role::Mobile {
            self.log_trouble(now, index);
        }
        self.way_was_used(now, index);
    }

    /// Adds an address where a peer may be. Only a datagram from there proves it; so handshakes and probes of the
    /// session go there too, and nothing else.
    pub(crate) fn found(&mut self, now: Instant, index: usize, at: HopAddress) {
        let Some(peer) = self.peers.get_mut(index) else {
            return;
        };
        let is_news = peer.endpoint != Some(at) && !at.is_group();
        if !is_news || self.role != Role::Mobile || !peer.search.add(at) {
            return;
        }
        let id = peer.id;
        // A mobile host initiates the handshakes with its peers.
        let _ = self.endpoint.retry_now(now, id);
        self.follow_sessions(now, None);
    }
}
