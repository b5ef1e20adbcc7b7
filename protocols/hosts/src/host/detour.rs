//! The way of new flows: across the hop, or around it while it is down.

use units::Instant;

use super::Host;
use crate::EventKind;
use crate::detour::{HopSight, Turn};

impl Host {
    /// Announces a turn of new flows to the other way, if one is due.
    pub(crate) fn choose_way(&mut self, now: Instant) {
        let begun = self.mobile.begun;
        let gateway = self.gateway_index();
        let detour = self.mobile.detour.as_mut().filter(|_| begun);
        let (Some(detour), Some(index)) = (detour, gateway) else {
            return;
        };
        let peer = &self.peers[index];
        let has_address = peer.endpoint.is_some_and(|at| !at.is_group());
        let can_send = peer.presence.is_linked() && has_address && !peer.reach.is_shut();
        let is_up = can_send
            && peer
                .association
                .as_ref()
                .is_none_or(|its| !its.is_in_fade());
        let hop = HopSight {
            is_up,
            is_gone: !is_up && (peer.presence.has_left() || peer.is_refused(now)),
            round_trip: peer.measured().0,
        };
        match detour.see(now, hop) {
            Some(Turn::Around(down_for)) => {
                self.announce(index, EventKind::DetourBegan { down_for });
            }
            Some(Turn::Across(lasted)) => self.announce(index, EventKind::DetourEnded { lasted }),
            None => {}
        }
    }
}
