//! Gateways of a site that want to be left: by all of their mobile hosts, or by some.

use units::Instant;

use super::Host;
use crate::site::{Attachment, Cause, SiteMessage};
use crate::{EventKind, Role};

impl Host {
    /// Returns true if this is a gateway whose mobile hosts may have others serve them.
    pub fn is_drainable(&self) -> bool {
        self.role == Role::Gateway && self.peers.are_of_site()
    }

    /// Asks all mobile hosts that this gateway serves to have others serve them, from now on, or no more.
    pub(super) fn drain(&mut self, now: Instant, begins: bool) {
        if !begins {
            self.agenda.requests.drain.end();
        } else if self.is_drainable() {
            self.agenda.requests.drain.begin(now);
            self.drain_due(now);
        }
    }

    /// Asks the mobile hosts whose turn it is.
    pub(super) fn drain_due(&mut self, now: Instant) {
        let mut drain = std::mem::take(&mut self.agenda.requests.drain);
        let asked = drain.asks(now, || self.served_here(now));
        self.agenda.requests.drain = drain;
        self.ask(now, asked, &SiteMessage::Drain);
    }

    /// Asks some of the mobile hosts that this gateway serves to look for a better one, now and then.
    pub(super) fn is_overloaded(&mut self, now: Instant) {
        if !self.is_drainable() {
            return;
        }
        let mut overload = std::mem::take(&mut self.agenda.requests.overload);
        let asked = overload.asks(now, || self.served_here(now));
        self.agenda.requests.overload = overload;
        self.ask(now, asked, &SiteMessage::Overloaded);
    }

    /// Sends a message to those of these mobile hosts that this gateway serves still.
    fn ask(&mut self, now: Instant, asked: Vec<usize>, message: &SiteMessage) {
        for index in asked {
            if self.is_served_here(now, index) {
                self.send_site_message(now, index, message);
            }
        }
    }

    /// Returns the mobile hosts that this gateway serves.
    fn served_here(&self, now: Instant) -> Vec<usize> {
        let all = self.peers.iter().map(|(index, _)| index);
        all.filter(|index| self.is_served_here(now, *index))
            .collect()
    }

    /// Returns true if this gateway serves a mobile host, and has keys with it.
    pub(super) fn is_served_here(&self, now: Instant, index: usize) -> bool {
        let peer = self.peers.get(index);
        peer.is_some_and(|peer| peer.presence.keys_age(now).is_some())
            && self
                .site_status(now, index)
                .is_some_and(|site| site.is_here())
    }

    /// A gateway asks this mobile host to have another one serve it. Without another one it stays.
    pub(super) fn drained(&mut self, now: Instant, index: usize) {
        self.peers[index].site.avoided = Some(now);
        let is_attached = self.attached_to() == index;
        let is_refused = |next: &Attachment| next.to == index && next.cause == Cause::First;
        if self.mobile.attachment.as_ref().is_some_and(is_refused) {
            return self.is_refused(now, index);
        }
        if !is_attached {
            // It does not know yet.
            self.part_from(now, Some(index));
        }
        let is_served = is_attached && self.mobile.attachment.is_none();
        if is_served && let Some(next) = self.next_gateway(now, Cause::Asked) {
            self.announce(index, EventKind::Drained);
            self.mobile.comparisons.release();
            self.move_to(now, next, Cause::Asked);
        }
    }

    /// The gateway that should serve this mobile host does not: asks the next one, and then this one again. Unlike
    /// others, the first attachment has no end.
    fn is_refused(&mut self, now: Instant, by: usize) {
        let Some(next) = self.next_gateway(now, Cause::Silence) else {
            return;
        };
        self.announce(by, EventKind::Drained);
        self.mobile.attachment = None;
        self.move_to(now, next, Cause::Silence);
        if let Some(attachment) = &mut self.mobile.attachment {
            attachment.is_after_refusal = true;
        }
    }
}
