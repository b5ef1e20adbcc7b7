//! Which gateway of a site serves a mobile host: the part of the mobile host.

use session::PublicKey;
use units::Instant;

use super::Host;
use crate::site::{Attachment, SiteMessage, Step};
use crate::{EventKind, Role};

impl Host {
    /// Begins to move to another gateway of the site. Does nothing if it serves this host already, or is none.
    pub(super) fn move_to(&mut self, now: Instant, gateway: &PublicKey) {
        let Some(to) = self.index_with(gateway) else {
            return;
        };
        let side = &self.mobile;
        if self.role != Role::Mobile || side.gateway == to || side.attachment.is_some() {
            return;
        }
        self.begin_attachment(now, to);
        // Only a mobile host initiates.
        let _ = self.endpoint.connect(now, self.peers[to].id);
    }

    fn begin_attachment(&mut self, now: Instant, to: usize) {
        let side = &mut self.mobile;
        let wall = self.endpoint.wall_clock(now);
        side.attachments = wall.max(side.attachments + 1);
        let is_first = to == side.gateway;
        let attachment = Attachment::new(now, to, side.attachments, is_first);
        side.attachment = Some(attachment);
    }

    /// There are new keys with a gateway: asks it to serve this host, if it is to.
    pub(super) fn gateway_established(&mut self, now: Instant, index: usize, anew: bool) {
        if self.role != Role::Mobile || !self.peers.are_of_site() {
            return;
        }
        if anew && index == self.mobile.gateway && self.mobile.attachment.is_none() {
            self.begin_attachment(now, index);
        }
        let Some(attachment) = &mut self.mobile.attachment else {
            return;
        };
        if attachment.to != index || (attachment.due.is_some() && !anew) {
            return;
        }
        attachment.due = Some(now);
        let former = self.mobile.gateway;
        if former != index && attachment.report.is_none() {
            let report = self.peers[former].association.report(now);
            self.forward(now, former);
            if let Some(attachment) = &mut self.mobile.attachment {
                attachment.report = Some(report);
            }
        }
        self.link(now, former);
        self.link(now, index);
        self.attach_due(now);
    }

    /// Asks the next gateway to serve this host, if that is due.
    pub(super) fn attach_due(&mut self, now: Instant) {
        let Some(attachment) = &mut self.mobile.attachment else {
            return;
        };
        if attachment.is_over(now) {
            return self.give_up_attachment(now);
        }
        if attachment.asks(now) {
            let to = attachment.to;
            let step = Step {
                number: attachment.number,
                report: attachment.report.clone(),
            };
            self.send_site_message(now, to, &SiteMessage::Attach(step));
        }
    }

    /// Stays with the former gateway, as the next one does not answer.
    fn give_up_attachment(&mut self, now: Instant) {
        let Some(attachment) = self.mobile.attachment.take() else {
            return;
        };
        self.announce(attachment.to, EventKind::NotAttached);
        let former = self.mobile.gateway;
        // Once it was asked, the former one may have ended its association, so that begins anew.
        let asked = attachment.due.map(|_| former);
        for index in [Some(attachment.to), asked].into_iter().flatten() {
            self.leave_gateway(now, index);
        }
        let _ = self.endpoint.connect(now, self.peers[former].id);
    }

    /// The home knows a later number, of an earlier life of this host: asks again with the next one.
    pub(super) fn attachment_is_behind(&mut self, now: Instant, index: usize, latest: u64) {
        let side = &mut self.mobile;
        if let Some(attachment) = &mut side.attachment
            && attachment.to == index
            && attachment.number <= latest
        {
            side.attachments = latest.saturating_add(1);
            attachment.number = side.attachments;
            attachment.due = Some(now);
            self.attach_due(now);
        }
    }

    /// A gateway serves this host from now on, and has the report of the former one.
    pub(super) fn attached(&mut self, now: Instant, index: usize, step: &Step) {
        let is_it = |attachment: &mut Attachment| {
            let is_asked = attachment.to == index && attachment.due.is_some();
            is_asked && attachment.number == step.number
        };
        let Some(attachment) = self.mobile.attachment.take_if(is_it) else {
            return;
        };
        let former = self.mobile.gateway;
        let mut packets = Vec::new();
        if former != index {
            let association = self.replace_association(now, former);
            let report = step.report.as_ref();
            packets = report
                .and_then(|report| association.withdraw(report).ok())
                .unwrap_or_default();
            self.hand_over_routes(former, index);
            self.leave_gateway(now, former);
        }
        self.link(now, index);
        for packet in packets {
            self.route(now, packet);
        }
        let lasted = now.since(attachment.since);
        self.announce(index, EventKind::Attached { lasted });
    }

    /// Ends the session with a gateway: the next one begins anew.
    fn leave_gateway(&mut self, now: Instant, index: usize) {
        // It is known, and only others are refused.
        let _ = self.endpoint.leave(now, self.peers[index].id);
        self.follow_sessions(now, None);
        self.part(now, index);
    }

    fn hand_over_routes(&mut self, former: usize, index: usize) {
        self.mobile.gateway = index;
        for (network, length) in &self.peers[former].settings.prefixes {
            self.routes.remove(*network, *length, former);
        }
        for (network, length) in &self.peers[index].settings.prefixes {
            self.routes.add(*network, *length, index);
        }
    }

    /// Returns true if nothing may cross the hop to or from this gateway: it does not serve this host yet, or another
    /// one is asked to.
    pub(super) fn waits_for_attachment(&self, index: usize) -> bool {
        let asked = self.mobile.attachment.as_ref();
        self.mobile.gateway == index && asked.is_some_and(|attachment| attachment.due.is_some())
    }

    /// Returns true if packets of a peer with a source of this owner are passed on: it is the owner, or a gateway that
    /// is about to take its place.
    pub(super) fn owns(&self, index: usize, owner: Option<usize>) -> bool {
        let asked = self.mobile.attachment.as_ref();
        let next = asked.filter(|attachment| attachment.due.is_some());
        let next = next.map(|attachment| attachment.to);
        owner == Some(index) || (next == Some(index) && owner == Some(self.mobile.gateway))
    }

    /// Returns the gateway that serves this mobile host.
    pub(crate) fn gateway_index(&self) -> Option<usize> {
        let serving = self.peers.get(self.mobile.gateway);
        let first = || self.peers.iter().next().map(|(index, _)| index);
        serving.map(|_| self.mobile.gateway).or_else(first)
    }
}
