//! The comparison of gateways: a mobile host moves to one through which its home is nearer, or which loses less.

use session::PublicKey;
use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::hop::MeasureMessage;

use super::Host;
use crate::site::{Cause, CompareStep, Member, SiteMessage, Tally};
use crate::{EventKind, Role};

impl Host {
    /// Takes the step of the comparison that is due.
    pub(super) fn compare_due(&mut self, now: Instant) {
        let peer = self.peers.get(self.mobile.gateway);
        let measured = peer.and_then(|peer| peer.measured().0);
        let round_trip = measured.unwrap_or_default();
        match self.mobile.comparisons.step(now, round_trip) {
            Some(CompareStep::Choose) => self.begin_comparison(now),
            Some(CompareStep::Probe(bits, other_first)) => self.probe(now, bits, other_first),
            Some(CompareStep::Better) => self.move_to_better(now),
            Some(CompareStep::End) => self.end_comparison(now),
            None => {}
        }
    }

    /// Compares the gateway to which this mobile host is attached with the next one.
    fn begin_comparison(&mut self, now: Instant) {
        let is_moving = self.mobile.attachment.is_some();
        let next = (!is_moving).then(|| self.next_gateway(now, Cause::Better));
        let Some(with) = next.flatten() else {
            self.mobile.comparisons.end(now);
            return;
        };
        let has_keys = self.peers[with].presence.is_linked();
        self.mobile.comparisons.begin(now, with, has_keys);
        if !has_keys {
            // Only a mobile host initiates.
            let _ = self.endpoint.connect(now, self.peers[with].id);
            self.follow_sessions(now, None);
        }
    }

    fn probe(&mut self, now: Instant, bits: u64, other_first: bool) {
        let Some(other) = self.mobile.comparisons.with() else {
            return;
        };
        let mut both = [self.attached_to(), other];
        if other_first {
            both.reverse();
        }
        let probe = MeasureMessage::Probe(bits).encode();
        for gateway in both {
            if let Some(at) = self.near_end(gateway) {
                self.send_message(now, gateway, at, &probe);
            }
        }
    }

    /// Returns the address of a gateway itself, also if this mobile host reaches it through another one.
    pub(super) fn near_end(&self, gateway: usize) -> Option<HopAddress> {
        if gateway == self.mobile.gateway && self.attached_to() != gateway {
            return self.path_by(gateway);
        }
        self.peers.get(gateway)?.endpoint
    }

    /// Ends the present comparison, if there is one, and notes what was measured through both gateways.
    fn take_comparison(&mut self, now: Instant) -> Option<(usize, [Tally; 2])> {
        let attached = self.attached_to();
        let (with, tallies) = self.mobile.comparisons.end(now)?;
        for (gateway, tally) in [attached, with].into_iter().zip(tallies) {
            let peer = self.peers.get_mut(gateway);
            if let Some(peer) = peer.filter(|_| tally.probes > 0) {
                peer.site.compared = Some((now, tally));
            }
        }
        Some((with, tallies))
    }

    fn move_to_better(&mut self, now: Instant) {
        let Some((with, [present, other])) = self.take_comparison(now) else {
            return;
        };
        self.announce(
            with,
            EventKind::Better {
                round_trip: other.round_trip().unwrap_or_default(),
                present: present.round_trip(),
                lost: [present.lost, other.lost],
                probes: other.probes,
            },
        );
        self.move_to(now, with, Cause::Better);
    }

    /// Ends the present comparison, if there is one: the other gateway has no part in this mobile host's traffic.
    pub(super) fn end_comparison(&mut self, now: Instant) {
        let is_unused =
            |with: &usize| self.is_only_compared(*with) && self.peers.get(*with).is_some();
        let unused = self.mobile.comparisons.with().filter(is_unused);
        self.take_comparison(now);
        if let Some(with) = unused {
            self.leave_gateway(now, with);
        }
    }

    /// Returns true if a peer is a gateway with which this mobile host has keys only to compare it.
    pub(super) fn is_only_compared(&self, index: usize) -> bool {
        self.mobile.comparisons.with() == Some(index) && !self.is_in_use(index)
    }

    /// Returns true if an event of the session with a peer is no news, as this hop does not carry the peer's traffic:
    /// the mobile host may only be comparing.
    pub(super) fn is_aside(&self, index: usize, kind: &EventKind) -> bool {
        let is_of_keys = matches!(
            kind,
            EventKind::Established { .. } | EventKind::Left | EventKind::Expired
        );
        is_of_keys
            && match (self.role, &self.peers[index].site.member) {
                (Role::Mobile, _) => self.is_only_compared(index) || self.is_candidate(index),
                (Role::Gateway, Member::Home(home)) => home.place.is_some(),
                (Role::Gateway, Member::Guest(guest)) => !guest.is_carried(),
                (Role::Gateway, Member::Gateway) => false,
            }
    }

    /// Moves to a gateway that the user has named, and compares no more while that serves.
    pub(super) fn move_as_asked(&mut self, now: Instant, gateway: &PublicKey) {
        let Some(to) = self.index_with(gateway) else {
            return;
        };
        self.move_to(now, to, Cause::Asked);
        if self.mobile.moves_to().unwrap_or(self.attached_to()) == to {
            self.end_comparison(now);
            self.mobile.comparisons.hold();
        }
    }

    /// Handles a message about the round trip to a mobile host's home.
    pub(super) fn measured(
        &mut self,
        now: Instant,
        index: usize,
        from: HopAddress,
        message: MeasureMessage,
    ) {
        match (self.role, message) {
            (Role::Mobile, MeasureMessage::Echo(bits)) => {
                let is_other = self.mobile.comparisons.with() == Some(index);
                // Another gateway would have the same traffic, and the same queue of it.
                let queued = match self.peers.get(self.mobile.gateway) {
                    Some(peer) if !is_other => peer.queueing_delay(),
                    Some(_) | None => Duration::ZERO,
                };
                if is_other || index == self.attached_to() {
                    self.mobile.comparisons.echoed(now, is_other, bits, queued);
                }
            }
            (Role::Gateway, MeasureMessage::Probe(bits)) if self.may_be_compared(now, index) => {
                self.pass_on_probe(now, index, from, bits);
            }
            (Role::Mobile | Role::Gateway, _) => {}
        }
    }

    /// Returns true if this gateway lets a mobile host measure the way through it. Nobody shall come to one that is
    /// about to end, or that has too little of the processor already.
    fn may_be_compared(&self, now: Instant, index: usize) -> bool {
        let requests = &self.agenda.requests;
        let is_full = requests.overload.is_present(now) && !self.is_served_here(now, index);
        requests.drain.due().is_none() && !is_full
    }

    /// Returns a probe of a mobile host that belongs here, or asks its home to.
    fn pass_on_probe(&mut self, now: Instant, index: usize, from: HopAddress, bits: u64) {
        match &self.peers[index].site.member {
            Member::Home(_) => {
                let echo = MeasureMessage::Echo(bits).encode();
                self.send_message(now, index, from, &echo);
            }
            Member::Guest(_) => {
                let mobile = self.key_of(index);
                if let Some(home) = self.home_of(index) {
                    self.send_site_message(now, home, &SiteMessage::Probe(mobile, bits));
                }
            }
            Member::Gateway => {}
        }
    }

    /// The home has returned the probe of a mobile host.
    pub(super) fn pass_on_echo(&mut self, now: Instant, index: usize, bits: u64) {
        if let Some(at) = self.peers[index].endpoint {
            self.send_message(now, index, at, &MeasureMessage::Echo(bits).encode());
        }
    }
}
