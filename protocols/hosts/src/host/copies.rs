//! Copies at the gateway that is to serve a mobile host: who asks for them, sends them, and begins with them.

use std::collections::BTreeMap;

use association::Association;
use units::Instant;
use wire::packet::Packet;

use super::Host;
use crate::Role;
use crate::site::{
    Cause, Copies, Gathering, Key, Progress, Proof, RECENT, SiteMessage, acknowledges,
    proven_copies,
};

/// Most mobile hosts of which a gateway gathers copies at a time.
const GATHERED_MOST: usize = 64;

impl Host {
    /// Has the next gateway gather copies before this mobile host leaves its own, if that is of use; returns true while
    /// it waits for that.
    pub(super) fn gathers(&mut self, now: Instant, next: usize) -> bool {
        let former = self.mobile.gateway;
        let side = &mut self.mobile;
        let Some(attachment) = side.attachment.as_mut().filter(|_| former != next) else {
            return false;
        };
        if let Some(gathering) = &attachment.gathering {
            return gathering.due().is_some();
        }
        let ends = side.moves.announced;
        let has_time = match attachment.cause {
            Cause::Asked | Cause::Better => true,
            Cause::Announced => ends.is_some_and(|ends| ends > now),
            _ => false,
        };
        let peer = &self.peers[former];
        let association = peer
            .association
            .as_deref()
            .filter(|_| side.moves.gathers && has_time);
        let is_heard = |its: &&Association| peer.presence.is_linked() && its.fade_since().is_none();
        let recent = association
            .filter(is_heard)
            .map(|its| its.received_since(now - RECENT));
        let before: BTreeMap<_, _> = recent.into_iter().flatten().collect();
        if before.is_empty() {
            return false;
        }
        attachment.gathering = Some(Box::new(Gathering::new(now, ends, before)));
        self.announce_move();
        self.attach_due(now);
        true
    }

    /// Tells the next gateway what has come of the connections whose copies it gathers, or leaves without them.
    pub(super) fn gather_due(&mut self, now: Instant) {
        let attachment = self.mobile.attachment.as_mut();
        let gathering = attachment.and_then(|next| next.gathering.as_mut());
        if !gathering.is_some_and(|gathering| gathering.reports(now)) {
            return;
        }
        let progress = self.progress();
        let former = self.peers.get(self.mobile.gateway);
        let heard = former.and_then(|former| former.presence.heard_at());
        let Some(attachment) = &mut self.mobile.attachment else {
            return;
        };
        let (to, number) = (attachment.to, attachment.number);
        if let Some(gathering) = &mut attachment.gathering
            && gathering.gives_up(now, heard, &progress)
        {
            return self.gateway_established(now, to, false);
        }
        let home = self.own_home();
        let proof = self.prove(
            home,
            &proven_copies(&self.peers[to].settings.public, number),
        );
        let home = home.map(|home| self.key_of(home)).unwrap_or_default();
        let gather = SiteMessage::Gather(number, proof, home).encode();
        let progress = SiteMessage::Progress(number, progress).encode();
        self.send_site_messages(now, to, &[gather, progress].concat());
    }

    /// The next gateway has copies of all that this mobile host lacks.
    pub(super) fn gathered(&mut self, now: Instant, index: usize, number: u64) {
        let attachment = self.mobile.attachment.as_mut();
        let attachment = attachment.filter(|next| next.to == index && next.number == number);
        let gathering = attachment.and_then(|next| next.gathering.as_mut());
        if gathering.is_some_and(|gathering| gathering.completes()) {
            self.gateway_established(now, index, false);
        }
    }

    /// Returns what has come of this mobile host's connections since the next gateway gathers copies.
    fn progress(&self) -> Vec<Progress> {
        let attachment = self.mobile.attachment.as_ref();
        let gathering = attachment.and_then(|next| next.gathering.as_deref());
        let former = self.peers.get(self.mobile.gateway);
        let association = former.and_then(|former| former.association.as_deref());
        let all = association.map(|its| its.received_since(Instant::ZERO));
        let all = all.into_iter().flatten();
        gathering.map_or_else(Vec::new, |gathering| gathering.progress(all))
    }

    /// Returns the message that precedes the request for this attachment, if the next gateway has gathered copies. If
    /// this host leaves without them it names no connection, as what it said before has become old.
    pub(super) fn last_progress(&self, number: u64) -> Option<SiteMessage> {
        let gathering = self.mobile.attachment.as_ref()?.gathering.as_deref()?;
        let progress = if gathering.is_complete() {
            self.progress()
        } else {
            Vec::new()
        };
        Some(SiteMessage::Progress(number, progress))
    }

    /// Sends an acknowledgement of this mobile host to the gateway that is to serve it, too: that may have begun with
    /// copies.
    fn acknowledge_by_next(&mut self, now: Instant, index: usize, packet: &Packet) {
        if !self.waits_for_attachment(index) {
            return;
        }
        let next = self.mobile.attachment.as_ref();
        let next = next.filter(|next| next.gathering.as_ref().is_some_and(|its| its.is_complete()));
        if let Some(to) = next.map(|next| next.to)
            && acknowledges(packet, |_| true)
        {
            self.hand_in(now, to, packet.clone());
        }
    }

    /// A mobile host prepares to be served here: its home is to send copies.
    pub(super) fn guest_prepares(
        &mut self,
        now: Instant,
        index: usize,
        number: u64,
        proof: Proof,
        named: &Key,
    ) {
        if !self.is_home_of(index, named) {
            return;
        }
        let (home, mobile) = (self.home_of(index), self.key_of(index));
        let Some(guest) = self.guest(index) else {
            return;
        };
        let is_next = number > guest.number && !guest.service.is_here;
        if let Some(home) = home.filter(|_| is_next) {
            self.begin_to_gather(now, index, number);
            self.send_site_message(now, home, &SiteMessage::SendCopies(mobile, number, proof));
        }
    }

    /// Sends copies to the gateway `to`, or keeps them here, until that serves this mobile host.
    pub(super) fn send_copies(
        &mut self,
        now: Instant,
        index: usize,
        to: Option<usize>,
        number: u64,
    ) {
        let home = self.home(index);
        let begins = home.is_some_and(|home| home.begin_copying(now, to, number));
        if begins && to.is_none() {
            self.begin_to_gather(now, index, number);
        }
    }

    /// Makes room for copies; those for other mobile hosts may have taken all there is.
    fn begin_to_gather(&mut self, now: Instant, index: usize, number: u64) {
        let present = self.peers[index].site.copies.as_ref();
        if present.is_some_and(|copies| copies.number == number) {
            return;
        }
        let kept = self
            .peers
            .iter()
            .filter_map(|(_, peer)| peer.site.copies.as_ref());
        let others = kept.filter(|copies| copies.is_gathering()).count();
        if others < GATHERED_MOST {
            let fresh = Box::new(Copies::new(now, number, others));
            self.peers[index].site.copies = Some(fresh);
            self.forget_copies(now, index);
        }
    }

    /// Forgets the copies for a mobile host that has not come, once their time is over. What else waits for a time on
    /// its behalf may be due before.
    pub(super) fn forget_copies(&mut self, now: Instant, index: usize) {
        let Some(peer) = self.peers.get_mut(index) else {
            return;
        };
        peer.site.copies.take_if(|copies| copies.until <= now);
        if let Some(copies) = &peer.site.copies {
            self.agenda.site.set_earlier(index, copies.until);
        }
    }

    /// Sends a packet to the gateway to which a mobile host is about to move, if it is one that is of use there.
    pub(super) fn send_to_next(&mut self, now: Instant, index: usize, packet: &Packet) {
        match self.role {
            Role::Mobile => self.acknowledge_by_next(now, index, packet),
            Role::Gateway => self.copy_to_next(now, index, packet),
        }
    }

    fn copy_to_next(&mut self, now: Instant, index: usize, packet: &Packet) {
        let Some(home) = self.home(index) else { return };
        home.copying.take_if(|copying| !copying.lasts(now));
        let copying = home.copying.as_mut();
        let copy = copying.and_then(|copying| Some((copying.to, copying.copy(packet)?)));
        match copy {
            Some((Some(gateway), copy)) => self.hand_in(now, gateway, copy),
            Some((None, copy)) => self.take_copy(now, index, copy),
            None => {}
        }
    }

    /// A copy for a mobile host has come from its home.
    pub(super) fn copy_came(
        &mut self,
        now: Instant,
        index: Option<usize>,
        from: usize,
        copy: Packet,
    ) {
        if let Some(index) = index.filter(|index| self.home_of(*index) == Some(from)) {
            self.take_copy(now, index, copy);
        }
    }

    /// Keeps a copy, or passes it on if this gateway has begun with the copies of its flow.
    fn take_copy(&mut self, now: Instant, index: usize, copy: Packet) {
        let copies = self.peers[index].site.copies.as_mut();
        let Some((segments, packet)) = copies.and_then(|copies| copies.take(copy)) else {
            return;
        };
        if let Some(guest) = self.guest(index) {
            guest.exchange.sent += segments;
            if let Some(packet) = packet {
                // It may have left since.
                self.send_to_member(now, index, packet);
            }
            self.yield_due(now, index);
        } else if let Some(packet) = packet {
            self.hand_in(now, index, packet);
        }
    }

    /// A mobile host says what it has of its connections.
    pub(super) fn progressed(
        &mut self,
        now: Instant,
        index: usize,
        number: u64,
        progress: Vec<Progress>,
    ) {
        let copies = self.peers[index].site.copies.as_mut();
        let its = copies.filter(|copies| copies.number == number);
        if its.is_some_and(|copies| copies.note(progress)) {
            self.send_site_message(now, index, &SiteMessage::Gathered(number));
        }
    }

    /// Begins to serve a mobile host with what it lacks of the copies for this attachment.
    pub(super) fn begin_with_copies(&mut self, now: Instant, index: usize, number: u64) {
        let copies = self.peers[index].site.copies.as_mut();
        let Some(copies) = copies.filter(|copies| copies.number == number) else {
            return;
        };
        let (segments, packets) = copies.begin();
        if let Some(guest) = self.guest(index) {
            guest.exchange.sent += segments;
        }
        for packet in packets {
            self.hand_in(now, index, packet);
        }
    }

    /// Returns what a mobile host had of the flows with which this gateway has begun by copies for this attachment.
    pub(super) fn begun_with_copies(&self, index: usize, number: u64) -> Option<Vec<Progress>> {
        let copies = self.peers[index].site.copies.as_ref();
        copies.filter(|copies| copies.number == number)?.begun()
    }

    /// Returns true for a packet of a guest that is not served yet, which acknowledges what came of copies.
    pub(super) fn acknowledges_copies(&self, index: usize, packet: &Packet) -> bool {
        let copies = self.peers[index].site.copies.as_ref();
        copies.is_some_and(|copies| acknowledges(packet, |flow| copies.has_begun(flow)))
    }
}
