//! The comparison of gateways: a mobile host moves to one through which its home is nearer, or which loses less.

use session::PublicKey;
use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::hop::MeasureMessage;

use super::Host;
use crate::site::{Cause, CompareStep, Member, SiteMessage, is_avoided};
use crate::{EventKind, Role};

impl Host {
    /// Takes the step of the comparison that is due.
    pub(super) fn compare_due(&mut self, now: Instant) {
        let peer = self.peers.get(self.mobile.gateway);
        let measured = peer.and_then(|peer| peer.association.measured().0);
        let step = self
            .mobile
            .comparisons
            .step(now, measured.unwrap_or_default());
        match step {
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
        let next = self.other_gateways(now, Cause::Better).next();
        let Some(with) = next.filter(|_| !is_moving) else {
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
    fn near_end(&self, gateway: usize) -> Option<HopAddress> {
        if gateway == self.mobile.gateway && self.attached_to() != gateway {
            return self.path_by(gateway);
        }
        self.peers.get(gateway)?.endpoint
    }

    fn move_to_better(&mut self, now: Instant) {
        let Some((with, [present, other])) = self.mobile.comparisons.end(now) else {
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
        let key = self.peers[with].settings.public;
        self.move_to(now, &key, Cause::Better);
    }

    /// Ends the present comparison, if there is one: the other gateway has no part in this mobile host's traffic.
    pub(super) fn end_comparison(&mut self, now: Instant) {
        let ended = self.mobile.comparisons.end(now);
        let is_unused = |with: &usize| {
            let moves_to = self.mobile.attachment.as_ref().map(|next| next.to);
            let in_use = [
                Some(self.mobile.gateway),
                Some(self.attached_to()),
                moves_to,
            ];
            self.peers.get(*with).is_some() && !in_use.contains(&Some(*with))
        };
        if let Some(with) = ended.map(|(with, _)| with).filter(is_unused) {
            self.leave_gateway(now, with);
        }
    }

    /// Returns true if a peer is a gateway with which this mobile host has keys only to compare it.
    pub(super) fn is_only_compared(&self, index: usize) -> bool {
        let moves_to = self.mobile.attachment.as_ref().map(|next| next.to);
        let is_in_use = index == self.mobile.gateway || moves_to == Some(index);
        self.mobile.comparisons.with() == Some(index) && !is_in_use
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
                (Role::Mobile, _) => self.is_only_compared(index),
                (Role::Gateway, Member::Home(home)) => home.place.is_some(),
                (Role::Gateway, Member::Guest(guest)) => {
                    !guest.service.is_here && guest.relayed.is_none()
                }
                (Role::Gateway, Member::Gateway) => false,
            }
    }

    /// Moves to a gateway that the user has named, and compares no more while that serves.
    pub(super) fn move_as_asked(&mut self, now: Instant, gateway: &PublicKey) {
        self.move_to(now, gateway, Cause::Asked);
        let moves_to = self.mobile.attachment.as_ref().map(|next| next.to);
        let next = moves_to.unwrap_or(self.attached_to());
        if self.index_with(gateway) == Some(next) {
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
                    Some(peer) if !is_other => peer.association.queueing_delay(),
                    Some(_) | None => Duration::ZERO,
                };
                if is_other || index == self.attached_to() {
                    self.mobile.comparisons.echoed(now, is_other, bits, queued);
                }
            }
            // Nobody shall come to a gateway that is about to end.
            (Role::Gateway, MeasureMessage::Probe(bits)) if self.agenda.drain.due().is_none() => {
                self.pass_on_probe(now, index, from, bits);
            }
            (Role::Mobile | Role::Gateway, _) => {}
        }
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

    /// Returns the gateways to which this mobile host is not attached, in turn after the one that was compared or
    /// tried last. Those that are drained come last, and only if the present one is silent.
    pub(super) fn other_gateways(
        &self,
        now: Instant,
        cause: Cause,
    ) -> impl Iterator<Item = usize> + use<> {
        let present = self.attached_to();
        let gateways = self.peers.iter().filter(|(index, peer)| {
            *index != present && matches!(peer.site.member, Member::Gateway)
        });
        let ranked = gateways.map(|(index, peer)| (is_avoided(peer.site.drained, now), index));
        let mut all: Vec<_> = ranked
            .filter(|(is_last, _)| !is_last || cause == Cause::Silence)
            .collect();
        all.sort_unstable();
        let last = self.mobile.comparisons.last;
        let past = all.iter().position(|(_, index)| *index == last);
        let first = past.map_or(0, |past| (past + 1) % all.len());
        all.rotate_left(first);
        all.into_iter().map(|(_, index)| index)
    }
}
