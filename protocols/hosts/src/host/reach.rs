//! Tries to reach peers for which datagrams cannot leave.

use machine::Machine;
use units::Instant;
use wire::address::HopAddress;

use super::Host;
use crate::places::PlaceState;

impl Host {
    /// Records that a datagram for that address could not leave.
    pub(crate) fn refused(&mut self, now: Instant, to: HopAddress) {
        self.note_place(now, to, PlaceState::NoRoute);
        for index in self.peers.indices() {
            if self.first_hop(index) == Some(to) {
                let peer = &mut self.peers[index];
                peer.reach = peer.reach.refused(now);
                self.link(now, index);
                self.log_trouble(now, index);
            }
        }
    }

    /// Tries all peers again that could not be reached: the network of this host has changed.
    pub(crate) fn try_all(&mut self, now: Instant) {
        for index in self.peers.indices() {
            let peer = &mut self.peers[index];
            if peer.reach.is_shut() {
                peer.reach = peer.reach.tried(now);
                self.link(now, index);
            }
        }
    }

    /// Tries those peers again that are due.
    pub(crate) fn try_due(&mut self, now: Instant) {
        let mut due: Vec<_> = self.agenda.tries.due(now).collect();
        due.sort_unstable();
        for index in due {
            let peer = &mut self.peers[index];
            peer.reach = peer.reach.acted(now);
            self.link(now, index);
        }
    }

    /// Sets in an association whether its frames can be sent: there are keys, and an address that belongs to the peer.
    pub(crate) fn link(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        self.agenda.tries.set(index, peer.reach.due());
        let has_address = peer.endpoint.is_some_and(|at| !at.is_group());
        let is_reached = peer.presence.is_linked() && !peer.reach.is_shut() && has_address;
        let linked = is_reached && !peer.site.is_void && !self.waits_for_attachment(index);
        let peer = &self.peers[index];
        // It has gone on elsewhere, and without keys it is not expected here.
        if peer.site.is_void && !peer.presence.is_linked() {
            self.dissociate(index);
        } else if linked {
            self.associated(now, index);
        }
        if let Some(association) = &mut self.peers[index].association {
            association.handle_input(now, association::Input::Link(linked));
        }
        self.forward(now, index);
    }
}
