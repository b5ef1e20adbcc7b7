//! Questions of a mobile host about its binding at a NAT, and a gateway's answers.

use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::hop::BindingMessage;

use super::Host;
use crate::Role;

impl Host {
    /// Handles a message about a binding, which came from this address.
    pub(crate) fn binding_message(
        &mut self,
        now: Instant,
        index: usize,
        from: HopAddress,
        message: BindingMessage,
    ) {
        match (self.role, message) {
            (Role::Gateway, BindingMessage::Question(seconds)) => {
                // The binding in question is that of the source. An answer is as long as a question.
                self.send_binding(now, index, from, BindingMessage::Answer(0));
                let is_later = seconds > 0;
                self.peers[index].presence.asked = is_later.then_some((seconds, from));
                let due = is_later.then(|| now + Duration::from_secs(seconds.into()));
                self.agenda.answers.set(index, due);
            }
            (Role::Mobile, BindingMessage::Answer(seconds)) => {
                if let Some(keepalive) = &mut self.mobile.keepalive {
                    keepalive.answered(now, seconds);
                }
            }
            (Role::Gateway, BindingMessage::Answer(_))
            | (Role::Mobile, BindingMessage::Question(_)) => {}
        }
    }

    /// Sends the answers that are due.
    pub(crate) fn answer_due(&mut self, now: Instant) {
        let mut due: Vec<_> = self.agenda.answers.due(now).collect();
        due.sort_unstable();
        for index in due {
            self.agenda.answers.clear(index);
            if let Some((seconds, to)) = self.peers[index].presence.asked.take() {
                self.send_binding(now, index, to, BindingMessage::Answer(seconds));
            }
        }
    }

    /// Records that a datagram has left for the gateway or come from it.
    pub(crate) fn use_binding(&mut self, now: Instant) {
        if let Some(keepalive) = &mut self.mobile.keepalive {
            keepalive.used(now);
        }
    }

    /// Forgets what is known about bindings: this host may be elsewhere.
    pub(crate) fn forget_binding(&mut self, now: Instant) {
        if let Some(keepalive) = &mut self.mobile.keepalive {
            keepalive.forget(now);
        }
    }

    /// Asks the next question about the binding, if it is due.
    pub(crate) fn keep_binding(&mut self, now: Instant) {
        let gateway = self.gateway_index();
        // The binding is one for the gateway that relays, if one does, and the home answers there.
        let is_udp = gateway
            .and_then(|index| self.first_hop(index))
            .is_some_and(|at| matches!(at, HopAddress::Udp(_)));
        let (Some(keepalive), Some(index)) = (&mut self.mobile.keepalive, gateway) else {
            return;
        };
        let peer = &self.peers[index];
        let to = peer.endpoint.filter(|_| is_udp);
        let can_ask = peer.presence.is_linked() && !peer.reach.is_shut();
        keepalive.set_reached(now, to.is_some() && can_ask);
        let round_trip = peer.measured().0;
        if let (Some(seconds), Some(to)) = (keepalive.act(now, round_trip), to) {
            self.send_binding(now, index, to, BindingMessage::Question(seconds));
        }
    }

    fn send_binding(
        &mut self,
        now: Instant,
        index: usize,
        to: HopAddress,
        message: BindingMessage,
    ) {
        self.send_message(now, index, to, &message.encode());
    }
}
