//! A gateway that stands in for the home of its guests while that is silent.

use units::Instant;

use super::Host;
use crate::site::{Guest, HomeStep, Service, SiteMessage};
use crate::{EventKind, GuestExits};

impl Host {
    /// Notes a datagram to the home of a guest, which should answer.
    pub(super) fn sent_to_home(&mut self, now: Instant, home: usize) {
        if let Some(due) = self.peers.homes.sent(now, home) {
            self.agenda.site.set(home, due);
        }
    }

    /// Asks a home for a sign of life, if that is due.
    pub(super) fn home_due(&mut self, now: Instant, home: usize) {
        if !self.peers.homes.stands_in()
            || self.peers.get(home).is_none_or(|_| !self.is_gateway(home))
        {
            return;
        }
        let (round_trip, _) = self.peers[home].measured();
        let step = self
            .peers
            .homes
            .step(now, home, round_trip.unwrap_or_default());
        let Some((step, due)) = step else { return };
        if step != HomeStep::Wait && !self.has_guests_of(now, home) {
            return self.peers.homes.rest(home);
        }
        self.agenda.site.set(home, due);
        if let Some(at) = self.peers[home].endpoint.filter(|_| step != HomeStep::Wait) {
            self.challenge_way(now, home, at);
        }
        if step == HomeStep::FallsSilent {
            self.home_falls_silent(now, home);
        }
    }

    fn has_guests_of(&mut self, now: Instant, home: usize) -> bool {
        let guests = self.guests_of(home);
        guests.into_iter().any(|index| {
            let is_linked = self.peers[index].presence.is_linked();
            let guest = self.guest(index).filter(|_| is_linked);
            guest.is_some_and(|guest| guest.service.is_here || guest.is_relayed(now))
        })
    }

    /// Returns the mobile hosts that belong to another gateway.
    pub(super) fn guests_of(&self, home: usize) -> Vec<usize> {
        let all = self.peers.indices().into_iter();
        all.filter(|index| self.home_of(*index) == Some(home))
            .collect()
    }

    /// Stands in for a home that is silent.
    pub(super) fn home_falls_silent(&mut self, now: Instant, home: usize) {
        for index in self.guests_of(home) {
            self.stand_in(now, index);
        }
    }

    /// Notes that a guest may be served without an answer of its home to this attachment.
    pub(super) fn may_stand_in(&mut self, now: Instant, index: usize, number: u64) {
        let Some(guest) = self.guest(index).filter(|guest| guest.number == number) else {
            return;
        };
        guest.service.may_be_alone = true;
        if self.is_home_silent(index) {
            self.stand_in(now, index);
        }
    }

    /// Returns true if the home of a guest is silent.
    pub(super) fn is_home_silent(&self, index: usize) -> bool {
        let home = self.home_of(index);
        home.is_some_and(|home| self.peers.homes.is_silent(home))
    }

    /// Serves a guest whose home is silent, if it has attached to this gateway.
    fn stand_in(&mut self, now: Instant, index: usize) {
        let may_be = |guest: &&mut Guest| {
            let Service {
                is_here,
                is_served,
                may_be_alone,
                ..
            } = guest.service;
            is_here && (is_served || may_be_alone)
        };
        let Some(guest) = self.guest(index).filter(may_be) else {
            return;
        };
        let is_new = !std::mem::replace(&mut guest.service.is_served, true);
        guest.service.is_unknown |= is_new;
        guest.service.has_stood_in = true;
        self.begin_exits(now, index, is_new);
        if is_new {
            self.answer_guest(now, index);
        }
        if let Some(home) = self
            .home_of(index)
            .filter(|home| self.peers.homes.stand_in(*home))
        {
            self.announce(home, EventKind::StandsIn);
        }
    }

    /// A home has sent something: this gateway does not stand in for it any more. It is told of guests that came
    /// meanwhile.
    pub(super) fn home_was_heard(&mut self, now: Instant, home: usize) {
        if !self.peers.homes.heard(now, home) {
            return;
        }
        self.announce(home, EventKind::HomeAnswers);
        for index in self.guests_of(home) {
            if self.peers.homes.exits == GuestExits::Untranslated {
                // The home has the addresses again.
                self.end_exits(index);
            }
            match self.guest(index).map(|guest| &guest.service) {
                Some(service) if service.is_unknown => self.arrive_again(now, index),
                Some(service) if service.has_stood_in => self.arrive_back(now, index),
                Some(_) | None => {}
            }
        }
    }

    /// The home of a guest knows a later attachment of it: it is elsewhere, or has to attach again.
    pub(super) fn guest_is_behind(&mut self, now: Instant, index: usize, message: &SiteMessage) {
        let is_linked = self.peers[index].presence.is_linked();
        let mut has_gone = false;
        if let Some(guest) = self.guest(index) {
            guest.service.has_stood_in = false;
            if guest.service.is_unknown {
                guest.claim = None;
                has_gone = !is_linked;
            }
        }
        self.send_site_message(now, index, message);
        if has_gone {
            self.change_guest(index, Guest::leaves);
        }
    }

    /// A guest has left, or its keys have expired: it may be back with new ones, unless its home knows better.
    pub(super) fn guest_is_away(&mut self, index: usize, has_left: bool) {
        let is_over = |guest: &mut Guest| has_left || guest.claim.is_none();
        if self.guest(index).is_some_and(is_over) {
            self.change_guest(index, Guest::leaves);
        } else {
            self.change_guest(index, |guest| guest.relayed = None);
        }
        if has_left && self.is_home_silent(index) {
            self.end_exits(index);
        }
    }
}
