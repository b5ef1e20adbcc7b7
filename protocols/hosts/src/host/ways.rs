//! The ways of a mobile host to its gateway. It alone decides which one is used; the gateway follows.

use units::Instant;
use wire::address::HopAddress;
use wire::hop::PathMessage;

use super::Host;
use super::validation::Arrival;
use crate::EventKind;
use crate::ways::Step;

impl Host {
    /// Records a datagram to a peer on the way in use.
    pub(crate) fn way_was_used(&mut self, now: Instant, index: usize) {
        let peer = &mut self.peers[index];
        if let Some(ways) = &mut peer.search.ways {
            let former = ways.due();
            let association = peer.association.as_ref();
            let round_trip = association.and_then(|its| its.measured().0);
            ways.sent(now, round_trip);
            if ways.due() != former {
                self.agenda.ways.set(index, ways.due());
            }
        }
    }

    /// Records a datagram from a peer.
    pub(crate) fn way_answers(&mut self, now: Instant, index: usize, from: HopAddress) {
        let peer = &mut self.peers[index];
        let is_in_use = peer.endpoint == Some(from);
        if let Some(ways) = peer.search.ways.as_mut().filter(|_| is_in_use) {
            let former = ways.due();
            ways.heard(now);
            if ways.due() != former {
                self.agenda.ways.set(index, ways.due());
            }
        }
    }

    /// Records that a peer receives at this address.
    pub(super) fn way_is_proven(&mut self, index: usize, at: HopAddress) {
        let peer = &mut self.peers[index];
        let is_in_use = peer.endpoint == Some(at);
        if let Some(ways) = peer.search.ways.as_mut().filter(|_| is_in_use) {
            ways.proved();
            self.agenda.ways.set(index, ways.due());
        }
    }

    /// Returns true if an address belongs to a way to a peer that is not in use.
    pub(super) fn is_other_way(&self, index: usize, at: HopAddress) -> bool {
        let peer = &self.peers[index];
        let ways = peer.search.ways.as_ref();
        ways.is_some_and(|ways| ways.is_other(at, peer.endpoint))
    }

    /// Handles an authentic datagram that came on a way which is not in use; `is_answered` is true if it shows that the
    /// peer receives there.
    pub(super) fn heard_on_other_way(
        &mut self,
        now: Instant,
        index: usize,
        arrival: Arrival,
        is_answered: bool,
    ) {
        let peer = &mut self.peers[index];
        let (round_trip, _) = peer.measured();
        let Some(ways) = &mut peer.search.ways else {
            return;
        };
        if !is_answered {
            // The keys are there now with which the peer can show it.
            if arrival.is_handshake && (ways.is_in_doubt(now) || !ways.uses_udp()) {
                self.challenge_way(now, index, arrival.from);
            }
            return;
        }
        let step = ways.answered(now, arrival.from, round_trip);
        self.agenda.ways.set(index, ways.due());
        if let Some(step) = step {
            self.take_step(now, index, step);
        }
    }

    /// Takes the steps that are due.
    pub(crate) fn ways_due(&mut self, now: Instant) {
        let mut due: Vec<_> = self.agenda.ways.due(now).collect();
        due.sort_unstable();
        for index in due {
            let Some(ways) = &mut self.peers[index].search.ways else {
                continue;
            };
            let step = ways.act(now);
            self.agenda.ways.set(index, ways.due());
            if let Some(step) = step {
                self.take_step(now, index, step);
            }
        }
    }

    fn take_step(&mut self, now: Instant, index: usize, step: Step) {
        match step {
            Step::AskHere => {
                if let Some(at) = self.peers[index].endpoint {
                    self.challenge_way(now, index, at);
                }
            }
            Step::Ask => self.ask_other_ways(now, index),
            Step::Take(to) => self.take_way(now, index, to),
        }
    }

    /// Asks at the other ways: by a challenge, or by a handshake if there are no keys.
    fn ask_other_ways(&mut self, now: Instant, index: usize) {
        let peer = &self.peers[index];
        if !peer.presence.is_linked() {
            // It goes to all ways. Only a responder or an unknown peer is refused, and this peer is neither.
            let _ = self.endpoint.retry_now(now, peer.id);
            return self.follow_sessions(now, None);
        }
        for at in peer.search.other_ways(now) {
            self.challenge_way(now, index, at);
        }
    }

    /// Asks a peer to answer at an address.
    pub(super) fn challenge_way(&mut self, now: Instant, index: usize, at: HopAddress) {
        let bits = self.endpoint.path_challenge(now, self.peers[index].id, at);
        self.send_on_path(now, index, at, PathMessage::Challenge(bits));
    }

    /// Uses another way from now on.
    fn take_way(&mut self, now: Instant, index: usize, to: HopAddress) {
        let Some(ways) = &self.peers[index].search.ways else {
            return;
        };
        let kind = match (to, ways.tls_since()) {
            (HopAddress::Tls(_), None) => EventKind::FellBack {
                to,
                silent: ways.silent_for(now),
            },
            (HopAddress::Udp(_), Some(since)) => EventKind::Returned {
                to,
                lasted: now.since(since),
            },
            _ => EventKind::Moved { to },
        };
        self.redirect_for(now, index, to, kind);
    }

    /// Records that a peer is used at another address from now on.
    pub(super) fn way_was_taken(&mut self, now: Instant, index: usize, to: HopAddress) {
        let search = &mut self.peers[index].search;
        let udp = search.udp_of(to);
        if let Some((ways, udp)) = search.ways.as_mut().zip(udp) {
            ways.took(now, to, udp);
            self.agenda.ways.set(index, ways.due());
        }
    }
}
