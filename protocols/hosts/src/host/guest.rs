//! Which gateway of a site serves a mobile host: the part of a gateway that is not its home.

use planted::Bug;
use units::{Duration, Instant};
use wire::packet::Packet;

use super::Host;
use crate::site::{
    Beginning, Ceased, Exchange, Guest, Key, Left, Member, Proof, Service, SiteMessage, Step,
};
use crate::{EventKind, GuestExits};

/// Pause before a home that has begun anew is asked again for a guest.
const AGAIN: Duration = Duration::from_millis(500);

impl Host {
    /// Passes on a packet from a guest to its home, or from a mobile host that belongs here to the gateway where its
    /// flow has begun; returns it if it leaves here.
    pub(super) fn arrived_from_guest(
        &mut self,
        now: Instant,
        index: usize,
        packet: Packet,
    ) -> Option<Packet> {
        let home = self.home_of(index);
        let is_silent = home.is_some_and(|home| self.peers.homes.is_silent(home));
        let exits_of_guests = self.peers.homes.exits;
        let Member::Guest(guest) = &mut self.peers[index].site.member else {
            return self.leave_elsewhere(now, index, packet);
        };
        if let Some(exits) = &mut guest.exits {
            let is_served = guest.service.is_served;
            let leaves = match exits_of_guests {
                GuestExits::Untranslated => is_silent && is_served && exits.is_open_for(&packet),
                _ if is_silent => exits.lead(now, &packet, Beginning::Any),
                GuestExits::ToInternet if is_served => exits.lead(now, &packet, Beginning::New),
                _ => exits.lead(now, &packet, Beginning::Never),
            };
            if leaves {
                return Some(packet);
            }
        }
        match home.filter(|_| guest.service.is_served) {
            Some(home) => {
                guest.exchange.carried += packet.data_segments();
                self.sent_to_home(now, home);
                self.hand_in(now, home, packet);
            }
            None if self.acknowledges_copies(index, &packet) => {
                if let Some(home) = home {
                    self.hand_in(now, home, packet);
                }
            }
            None => self.counts.packets_unroutable += 1,
        }
        None
    }

    /// A guest wants to be served here, and names its home: asks that.
    pub(super) fn guest_attaches(
        &mut self,
        now: Instant,
        index: usize,
        step: Step,
        proof: Proof,
        named: &Key,
    ) {
        if !self.is_home_of(index, named) {
            // At its home it learns the key that this has now.
            return self.send_site_message(now, index, &SiteMessage::Drain);
        }
        let Some(guest) = self.guest(index) else {
            return;
        };
        if guest.has_left_since(step.number) {
            return;
        }
        if step.number == guest.number && guest.service.is_served {
            return self.answer_guest(now, index);
        }
        self.change_guest(index, |guest| guest.arrives(step.clone(), proof));
        self.link(now, index);
        self.takes_over(now, index);
        self.begin_with_copies(now, index, step.number);
        self.say_that_it_arrived(now, index, step, proof);
    }

    /// Asks the home of a guest to have this gateway serve it. With the request comes what the guest had of the flows
    /// with which this gateway has begun: the home has their rest come from here.
    fn say_that_it_arrived(&mut self, now: Instant, index: usize, step: Step, proof: Proof) {
        let (home, mobile) = (self.home_of(index), self.key_of(index));
        let Some(home) = home else { return };
        let begun = self.begun_with_copies(index, step.number);
        let begun = begun.map(|begun| SiteMessage::Begun(mobile, step.number, begun).encode());
        let arrived = SiteMessage::Arrived(mobile, step, proof).encode();
        self.sent_to_home(now, home);
        self.send_site_messages(now, home, &[begun.unwrap_or_default(), arrived].concat());
    }

    /// Changes the state of a guest; announces if its traffic comes by this gateway from now on, or no more. One that
    /// has said goodbye has been announced.
    pub(super) fn change_guest(&mut self, index: usize, change: impl FnOnce(&mut Guest)) {
        let Some(guest) = self.guest(index) else {
            return;
        };
        let (former, was_here) = (guest.is_carried(), guest.service.is_here);
        change(guest);
        let has_left = was_here && !guest.service.is_here;
        let is_carried = guest.is_carried();
        if is_carried && !former {
            self.announce(index, EventKind::Established { fresh: true });
        } else if former && !is_carried && self.peers[index].presence.is_linked() {
            self.announce(index, EventKind::Left);
        }
        if has_left && !self.guest(index).is_some_and(|guest| guest.leaves_flows()) {
            self.end_exits(index);
        }
    }

    /// Serves a guest from now on, as its home says.
    pub(super) fn serve(&mut self, now: Instant, index: usize, step: Step, is_whole: bool) {
        let Some(guest) = self.guest(index) else {
            return;
        };
        if step.number == guest.number && guest.service.is_here {
            let is_new = !std::mem::replace(&mut guest.service.is_served, true);
            guest.service.is_whole |= is_whole;
            guest.service.is_unknown = false;
            guest.service.has_stood_in = false;
            guest.service.answer = step.report.map(Box::new);
            if self.peers.homes.exits == GuestExits::ToInternet {
                self.begin_exits(now, index, is_new);
            }
            self.answer_guest(now, index);
        }
    }

    pub(super) fn answer_guest(&mut self, now: Instant, index: usize) {
        let Some(guest) = self.guest(index) else {
            return;
        };
        let step = Step {
            number: guest.number,
            report: guest.service.answer.as_deref().cloned(),
        };
        self.send_site_message(now, index, &SiteMessage::Attached(step));
    }

    /// A guest has asked another gateway to serve it: ceases to before its home asks, which takes as long as the way
    /// there and back.
    pub(super) fn guest_leaves(&mut self, now: Instant, index: usize, step: &Step) {
        let is_silent = self.is_home_silent(index);
        let Some(guest) = self.guest(index) else {
            return;
        };
        let may_leave = guest.service.is_whole && guest.yielding.is_none() && !is_silent;
        let is_late = step.number <= guest.number;
        if is_late || !(may_leave || guest.left.is_some()) {
            return;
        }
        if guest.left.is_none() {
            self.return_packets(now, index, step);
        }
        let mobile = self.key_of(index);
        let Some(guest) = self.guest(index) else {
            return;
        };
        let carried = guest.exchange.carried;
        if let Some(left) = &mut guest.left {
            left.number = left.number.max(step.number);
            let step = Step {
                number: left.number,
                report: left.report.clone(),
            };
            self.answer_home(now, index, &SiteMessage::Left(mobile, step, carried));
        }
    }

    /// Ends the service of a guest that goes on elsewhere, and returns to its home what was not delivered.
    fn return_packets(&mut self, now: Instant, index: usize, step: &Step) {
        let (report, mut packets) = self.end_service(now, index, step.report.as_ref());
        if planted::is(Bug::QueueIsCut) {
            packets.pop();
        }
        let returned: u64 = packets.iter().map(Packet::data_segments).sum();
        if let Some(home) = self.home_of(index) {
            for packet in packets {
                self.hand_in(now, home, packet);
            }
        }
        self.change_guest(index, |guest| {
            (guest.service.is_here, guest.service.is_served) = (false, false);
            guest.exchange.returned += returned;
            let number = step.number;
            guest.left = Some(Box::new(Left { number, report }));
        });
    }

    /// The home of a guest asks this gateway to cease to serve it, once so many packets have come.
    pub(super) fn begin_to_yield(&mut self, now: Instant, index: usize, step: Step, sent: u64) {
        let home = self.home_of(index).and_then(|home| self.peers.get(home));
        let round_trip = home.and_then(|home| home.measured().0);
        let Some(guest) = self.guest(index) else {
            return;
        };
        let ceased = guest.ceased.as_deref();
        if ceased.is_some_and(|ceased| ceased.step.number == step.number) {
            return self.has_ceased(now, index);
        }
        if step.number < guest.number && guest.service.is_here {
            // It has come back meanwhile, and begun anew: the request is about what was before.
            return;
        }
        let due = guest.begin_to_yield(now, step, sent, round_trip);
        self.agenda.site.set(index, due);
        self.yield_due(now, index);
    }

    /// Ceases to serve a guest, if that is due.
    pub(super) fn yield_due(&mut self, now: Instant, index: usize) {
        let Some(request) = self.guest(index).and_then(|guest| guest.take_due(now)) else {
            return;
        };
        self.agenda.site.clear(index);
        self.forget_copies(now, index);
        if self.guest(index).is_some_and(|guest| guest.left.is_none()) {
            self.return_packets(now, index, &request);
        }
        let Some(guest) = self.guest(index) else {
            return;
        };
        guest.service = Service::default();
        guest.cease(Some(request.number));
        self.has_ceased(now, index);
    }

    /// Tells the home of a guest that this gateway has ceased to serve it.
    fn has_ceased(&mut self, now: Instant, index: usize) {
        let mobile = self.key_of(index);
        let ceased = self.guest(index).and_then(|guest| guest.ceased.as_deref());
        if let Some(Ceased { step, counts }) = ceased {
            let (step, counts) = (step.clone(), *counts);
            let message = SiteMessage::Yielded {
                mobile,
                step,
                counts,
            };
            self.answer_home(now, index, &message);
        }
    }

    /// Tells the home of a guest that this gateway has ceased to serve it, and which of its flows leave here.
    fn answer_home(&mut self, now: Instant, index: usize, message: &SiteMessage) {
        let (home, mobile) = (self.home_of(index), self.key_of(index));
        let Some((home, guest)) = home.zip(self.guest(index)) else {
            return;
        };
        let exits = guest.exits.as_deref_mut();
        let flows = exits.map(|exits| exits.flows.present(now));
        let flows = flows.filter(|flows| !flows.is_empty());
        let flows = flows.map(|flows| SiteMessage::Flows(mobile, flows).encode());
        let messages = [flows.unwrap_or_default(), message.encode()].concat();
        self.send_site_messages(now, home, &messages);
    }

    /// The association with another gateway has begun anew: as a home it may know nothing of its guests here, and is
    /// asked until it has answered.
    pub(super) fn gateway_began_anew(&mut self, now: Instant, gateway: usize) {
        if !self.is_gateway(gateway) {
            return;
        }
        for index in self.peers.indices() {
            if let Some(home) = self.home(index) {
                home.count_anew(gateway);
            } else if self.home_of(index) == Some(gateway) {
                if let Some(guest) = self.guest(index) {
                    guest.exchange = Exchange::default();
                }
                self.peers[index].site.copies = None;
                self.arrive_again(now, index);
            }
        }
    }

    /// Asks the home of a guest again, if it has not answered.
    pub(super) fn arrive_if_unserved(&mut self, now: Instant, index: usize) {
        let service = self.guest(index).map(|guest| &guest.service);
        match service {
            Some(service) if !service.is_served => self.arrive_again(now, index),
            Some(service) if service.has_stood_in => self.arrive_back(now, index),
            Some(_) | None => {}
        }
    }

    /// Asks the home of a guest, which knows nothing of it any more, to have this gateway serve it.
    pub(super) fn arrive_again(&mut self, now: Instant, index: usize) {
        let claim = self.guest(index).and_then(Guest::begin_anew);
        self.arrive(now, index, claim);
    }

    /// Tells the home of a guest, which was silent, that this gateway serves it: the home announces what this gateway
    /// has announced in its place.
    pub(super) fn arrive_back(&mut self, now: Instant, index: usize) {
        let is_silent = self.is_home_silent(index);
        let guest = self.guest(index).filter(|_| !is_silent);
        let claim = guest.and_then(|guest| guest.attachment());
        self.arrive(now, index, claim);
    }

    fn arrive(&mut self, now: Instant, index: usize, claim: Option<(Step, Proof)>) {
        if let Some((step, proof)) = claim
            && self.home_of(index).is_some()
        {
            self.agenda.site.set(index, now + AGAIN);
            self.say_that_it_arrived(now, index, step, proof);
        }
    }

    /// Stands in for a gateway that has ended. The guests of one that has revoked this one are asked to have others
    /// serve them, as nothing of theirs goes on from here.
    pub(super) fn home_has_left(&mut self, now: Instant, home: usize) {
        if !self.is_gateway(home) {
            return;
        }
        if self.peers.homes.has_left(home) {
            return self.home_falls_silent(now, home);
        }
        for index in self.guests_of(home) {
            if self.guest(index).is_some_and(|guest| guest.service.is_here) {
                self.send_site_message(now, index, &SiteMessage::Drain);
            }
        }
    }
}
