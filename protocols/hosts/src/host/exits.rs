//! Flows of a mobile host that leave at a gateway which is not its home.

use std::net::IpAddr;

use units::Instant;
use wire::flow::FlowKey;
use wire::packet::Packet;

use super::Host;
use crate::site::{Beginning, Flows, Guest, Member};
use crate::{ExitChange, GuestExits, Output};

impl Host {
    /// Has flows of a guest leave here from now on, once the system is ready. The addresses of one that `has_come` are
    /// announced anew, as another gateway may have done that since; and it may have begun flows elsewhere.
    pub(super) fn begin_exits(&mut self, now: Instant, index: usize, has_come: bool) {
        let announces = has_come && self.peers.homes.exits == GuestExits::Untranslated;
        let Some(guest) = self.guest(index) else {
            return;
        };
        let is_first = guest.exits.is_none();
        let exits = guest.exits.get_or_insert_default();
        if has_come {
            exits.has_come(now);
        }
        if is_first || announces {
            self.report_exits(index, ExitChange::Begins);
        }
    }

    /// Ends the flows of a guest that leave here.
    pub(super) fn end_exits(&mut self, index: usize) {
        let ends = |guest: &mut Guest| guest.exits.take().is_some();
        if self.guest(index).is_some_and(ends) {
            self.report_exits(index, ExitChange::Ends);
        }
    }

    /// Has the addresses of a mobile host that belongs here announced, if nobody translates them: while this gateway
    /// was out of reach, another one may have done so.
    pub(super) fn announce_exits(&mut self, index: usize) {
        if self.peers.homes.exits == GuestExits::Untranslated {
            self.report_exits(index, ExitChange::Stays);
        }
    }

    /// Ends what is kept for flows that have ended: here of guests that are elsewhere, and at a home.
    pub(super) fn end_idle_exits(&mut self, now: Instant) {
        let mut idle = Vec::new();
        for (index, peer) in self.peers.iter_mut() {
            match &mut peer.site.member {
                Member::Home(home) => home.flows.retain(|_, flows| flows.go_on(now)),
                Member::Guest(guest) => {
                    let exits = guest.exits.as_deref_mut();
                    let exits = exits.filter(|_| !guest.service.is_here);
                    if exits.is_some_and(|exits| !exits.flows.go_on(now)) {
                        idle.push(index);
                    }
                }
                Member::Gateway => {}
            }
        }
        for index in idle {
            self.end_exits(index);
        }
    }

    /// The system is ready for packets with these inner addresses.
    pub(super) fn exits_open(&mut self, prefixes: &[(IpAddr, u8)]) {
        for prefix in prefixes {
            let guest = self
                .routes
                .owner(prefix.0)
                .and_then(|index| self.guest(index));
            if let Some(exits) = guest.and_then(|guest| guest.exits.as_mut()) {
                exits.open(&[*prefix]);
            }
        }
    }

    fn report_exits(&mut self, index: usize, change: ExitChange) {
        let settings = &self.peers[index].settings;
        let prefixes = settings.prefixes.clone();
        self.outputs.push_back(Output::Exits { prefixes, change });
    }

    /// The gateway that has served a mobile host which belongs here says which of its flows leave there.
    pub(super) fn flows_leave_at(
        &mut self,
        now: Instant,
        index: usize,
        gateway: usize,
        flows: Vec<FlowKey>,
    ) {
        let own = |flow: &FlowKey| self.routes.owner(flow.source) == Some(index);
        let flows = Flows::of(now, flows.into_iter().filter(own));
        let home = self.home(index).filter(|home| home.is_served_by(gateway));
        if let Some(home) = home {
            home.flows.insert(gateway, flows);
        }
    }

    /// Passes on a packet of a mobile host that belongs here to the gateway where its flow leaves; returns it if that
    /// is this one.
    pub(super) fn leave_elsewhere(
        &mut self,
        now: Instant,
        index: usize,
        packet: Packet,
    ) -> Option<Packet> {
        let flows = self.home(index).map(|home| &mut home.flows);
        let gateway = flows.and_then(|flows| {
            let mut all = flows.iter_mut();
            all.find_map(|(gateway, flows)| flows.note(now, &packet).then_some(*gateway))
        });
        let Some(gateway) = gateway else {
            return Some(packet);
        };
        self.hand_in(now, gateway, packet);
        None
    }

    /// Returns true if a packet of a guest that has come from its home leaves here, as its flow does.
    pub(super) fn leaves_here(
        &mut self,
        now: Instant,
        index: usize,
        from: usize,
        packet: &Packet,
    ) -> bool {
        let is_from_home = self.home_of(index) == Some(from);
        let guest = self.guest(index).filter(|_| is_from_home);
        let exits = guest.and_then(|guest| guest.exits.as_deref_mut());
        exits.is_some_and(|exits| exits.lead(now, packet, Beginning::Never))
    }
}
