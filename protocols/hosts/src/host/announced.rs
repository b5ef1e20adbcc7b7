//! Hand-offs of a mobile host that a program announces, as the driver of a modem can.

use session::PublicKey;
use units::{Duration, Instant};
use wire::address::HopAddress;

use super::Host;
use crate::Role;
use crate::site::{Attachment, Cause, is_avoided};

impl Host {
    /// Returns true if this is a mobile host.
    pub fn is_mobile(&self) -> bool {
        self.role == Role::Mobile
    }

    /// The hop to the present gateway, or to another one, is about to change or to end: that is avoided. If it is the
    /// present one, tells applications, and has another gateway serve this host before that. Without another one that
    /// answers, it stays where it is.
    pub(super) fn handoff_announced(
        &mut self,
        now: Instant,
        within: Duration,
        gateway: Option<&PublicKey>,
    ) {
        if !self.is_mobile() {
            return;
        }
        let present = self.attached_to();
        let other = gateway.and_then(|key| self.index_with(key));
        if let Some(other) = other.filter(|other| *other != present) {
            self.peers[other].site.avoided = Some(now);
            return;
        }
        self.begin_hand_off(now, within);
        self.mobile.moves.announced = Some(now + within);
        if self.mobile.attachment.is_some() || self.peers.get(present).is_none() {
            return;
        }
        if let Some(next) = self.next_gateway(now, Cause::Announced) {
            self.peers[present].site.avoided = Some(now);
            self.mobile.comparisons.release();
            self.move_to(now, next, Cause::Announced);
        }
    }

    /// Ends what was announced, when its time has come: whoever answers from now on is in reach.
    pub(super) fn announced_due(&mut self, now: Instant) {
        if self
            .mobile
            .moves
            .announced
            .take_if(|at| *at <= now)
            .is_some()
        {
            self.link_up(now);
        }
    }

    /// Asks all candidates for keys, or for a sign of life: there may be no time to try one after the other.
    pub(super) fn ask_candidates(&mut self, now: Instant) {
        let next = self.mobile.attachment.as_ref();
        let is_again = next.is_some_and(Attachment::has_repeated);
        for index in self.candidates(now) {
            let peer = &self.peers[index];
            let id = peer.id;
            if !peer.presence.is_linked() {
                // Only a mobile host initiates.
                let _ = self.endpoint.connect(now, id);
                if is_again {
                    let _ = self.endpoint.retry_now(now, id);
                }
            } else if let Some(at) = self.near_end(index) {
                self.challenge_way(now, index, at);
            }
        }
        self.follow_sessions(now, None);
    }

    /// Returns the gateways of which the first one that answers serves this host, if there are any: if none does soon,
    /// those too that are to be avoided.
    fn candidates(&self, now: Instant) -> Vec<usize> {
        let next = self.mobile.attachment.as_ref();
        let Some(next) = next.filter(|next| next.is_open()) else {
            return Vec::new();
        };
        let is_avoided = |index: usize| is_avoided(self.peers[index].site.avoided, now);
        let mut all = self.others();
        all.retain(|index| next.has_repeated() || is_avoided(next.to) || !is_avoided(*index));
        all
    }

    /// Returns true if a peer is a gateway that may be chosen, and has no part in this host's traffic.
    pub(super) fn is_candidate(&self, index: usize) -> bool {
        let next = self.mobile.attachment.as_ref();
        next.is_some_and(Attachment::is_open) && !self.is_in_use(index)
    }

    /// A gateway has answered at this address, or there are keys with it: it serves this host, if it is the first one
    /// that may.
    pub(super) fn candidate_answers(&mut self, now: Instant, index: usize, at: HopAddress) {
        if self.near_end(index) == Some(at) && self.choose_first(now, index) {
            self.gateway_established(now, index, false);
        }
    }

    /// Chooses a gateway if it is the first one that may serve this host; returns true if it is.
    pub(super) fn choose_first(&mut self, now: Instant, index: usize) -> bool {
        let is_candidate = self.candidates(now).contains(&index);
        let Some(next) = self.mobile.attachment.as_mut().filter(|_| is_candidate) else {
            return false;
        };
        next.to = index;
        self.leave_spare(now);
        true
    }

    /// Leaves all gateways that have no part in this host's traffic.
    pub(super) fn leave_spare(&mut self, now: Instant) {
        for index in self.others() {
            if !self.is_in_use(index) {
                self.leave_gateway(now, index);
            }
        }
    }
}
