//! Which gateway of a site serves a mobile host: messages and packets between gateways.

use association::{Association, Report};
use machine::Machine;
use session::PublicKey;
use split::Origin;
use units::{Duration, Instant};
use wire::packet::Packet;

use super::Host;
use super::members::stays_at_home;
use crate::peer::Peer;
use crate::site::{
    Guest, Home, Key, Member, Parts, SiteMessage, proven_attachment, proven_copies, proven_number,
    split,
};
use crate::{Output, Role, SitePart, SiteStatus};

/// Time after a move until the queue of a hop is measured against its own rate: that is not known yet, and senders need
/// some round trips to notice it.
const SETTLING: Duration = Duration::from_secs(1);

impl Host {
    /// Takes a part of a message about who serves a mobile host.
    pub(super) fn take_part(&mut self, now: Instant, index: usize, part: &[u8]) {
        // Parts take memory, which gateways without a site need not have.
        let may_come = self.role == Role::Mobile || self.peers.are_of_site();
        let whole = if may_come {
            self.peers[index].site.parts.take(part)
        } else {
            Parts::only(part)
        };
        for message in SiteMessage::decode(&whole.unwrap_or_default()) {
            self.peer_says(now, index, message);
        }
    }

    fn peer_says(&mut self, now: Instant, index: usize, message: SiteMessage) {
        // One before it may have removed the peer.
        if self.peers.get(index).is_none() {
            return;
        }
        match (self.role, &self.peers[index].site.member, message) {
            (Role::Mobile, _, SiteMessage::Attached(step)) => self.attached(now, index, &step),
            (Role::Mobile, _, SiteMessage::Behind(number, proof))
                if self.home_has_proven(index, &proven_number(number), &proof) =>
            {
                self.attachment_is_behind(now, index, number);
            }
            (Role::Mobile, _, SiteMessage::Drain) => self.drained(now, index),
            (Role::Mobile, _, SiteMessage::Overloaded) if self.attached_to() == index => {
                self.mobile.comparisons.is_wanted(now);
            }
            (Role::Mobile, _, SiteMessage::Portion(portion)) if self.may_tell(index) => {
                self.is_told(now, index, portion);
            }
            (Role::Gateway, Member::Home(_), SiteMessage::Attach(step, ..)) => {
                self.place(now, index, None, step);
                if !self.peers.are_of_site() {
                    // It knows of gateways that are none any more.
                    self.tell_directory(now, index);
                }
            }
            (Role::Gateway, Member::Guest(_), SiteMessage::Attach(step, proof, home)) => {
                self.guest_attaches(now, index, step, proof, &home);
            }
            (Role::Gateway, Member::Guest(_), SiteMessage::Gather(number, proof, home)) => {
                self.guest_prepares(now, index, number, proof, &home);
            }
            (Role::Gateway, Member::Home(_), SiteMessage::Gather(number, ..)) => {
                self.send_copies(now, index, None, number);
            }
            (Role::Gateway, _, SiteMessage::Progress(number, progress)) => {
                self.progressed(now, index, number, progress);
            }
            (Role::Mobile, _, SiteMessage::Gathered(number)) => self.gathered(now, index, number),
            (Role::Gateway, Member::Guest(_), SiteMessage::Leave(step)) => {
                self.guest_leaves(now, index, &step);
            }
            (Role::Gateway, Member::Guest(_), SiteMessage::Alone(number)) => {
                self.may_stand_in(now, index, number);
            }
            (Role::Gateway, Member::Guest(_), SiteMessage::Parted) => {
                self.change_guest(index, |guest| guest.relayed = None);
            }
            (Role::Gateway, Member::Gateway, SiteMessage::Portion(portion)) => {
                self.is_told(now, index, portion);
            }
            (Role::Gateway, _, SiteMessage::Read(mark)) => self.has_read(now, index, mark),
            (Role::Gateway, Member::Gateway, SiteMessage::Dismissed) => {
                self.peers.homes.dismissed(index);
            }
            (Role::Gateway, Member::Gateway, message) => self.gateway_says(now, index, message),
            _ => {}
        }
    }

    fn gateway_says(&mut self, now: Instant, from: usize, message: SiteMessage) {
        let index_of = |mobile: &Key| self.index_with(&PublicKey::from_bytes(*mobile));
        let index = match &message {
            SiteMessage::Arrived(mobile, ..)
            | SiteMessage::ArrivedBehind(mobile, ..)
            | SiteMessage::Serve(mobile, ..)
            | SiteMessage::Probe(mobile, _)
            | SiteMessage::Echo(mobile, _)
            | SiteMessage::Yield { mobile, .. }
            | SiteMessage::Yielded { mobile, .. }
            | SiteMessage::Flows(mobile, _)
            | SiteMessage::SendCopies(mobile, ..)
            | SiteMessage::Begun(mobile, ..)
            | SiteMessage::Left(mobile, ..) => index_of(mobile),
            SiteMessage::Attach(..)
            | SiteMessage::Attached(_)
            | SiteMessage::Behind(..)
            | SiteMessage::Drain
            | SiteMessage::Overloaded
            | SiteMessage::Parted
            | SiteMessage::Leave(_)
            | SiteMessage::Alone(_)
            | SiteMessage::Dismissed
            | SiteMessage::Gather(..)
            | SiteMessage::Progress(..)
            | SiteMessage::Gathered(_)
            | SiteMessage::Portion(_)
            | SiteMessage::Read(_) => None,
        };
        let Some(index) = index else { return };
        let is_home = self.home_of(index) == Some(from);
        match message {
            SiteMessage::Arrived(_, step, proof)
                if self.is_proven(from, index, &proof, |key| proven_attachment(key, &step))
                    && !stays_at_home(&self.peers[index].settings) =>
            {
                self.place(now, index, Some(from), step);
            }
            SiteMessage::SendCopies(_, number, proof)
                if self.is_proven(from, index, &proof, |key| proven_copies(key, number)) =>
            {
                self.send_copies(now, index, Some(from), number);
            }
            SiteMessage::Begun(_, number, begun) => {
                if let Some(home) = self.home(index) {
                    home.has_begun(now, number, Some(from), begun);
                }
            }
            SiteMessage::ArrivedBehind(_, number, proof) if is_home => {
                self.guest_is_behind(now, index, &SiteMessage::Behind(number, proof));
            }
            SiteMessage::Serve(_, step, is_whole) if is_home => {
                self.serve(now, index, step, is_whole);
            }
            SiteMessage::Yield { step, sent, .. } if is_home => {
                self.begin_to_yield(now, index, step, sent);
            }
            SiteMessage::Yielded { step, counts, .. } => {
                self.yielded(now, index, from, step, counts);
            }
            SiteMessage::Left(_, step, carried) => self.left(now, index, from, step, carried),
            SiteMessage::Flows(_, flows) => self.flows_leave_at(now, index, from, flows),
            SiteMessage::Probe(mobile, bits) if self.home(index).is_some() => {
                self.send_site_message(now, from, &SiteMessage::Echo(mobile, bits));
            }
            SiteMessage::Echo(_, bits) if is_home => self.pass_on_echo(now, index, bits),
            _ => {}
        }
    }

    /// Returns true if this mobile host believes what a gateway tells of others: it is its home.
    pub(super) fn may_tell(&self, index: usize) -> bool {
        self.own_home().unwrap_or(self.mobile.gateway) == index
    }

    /// Returns the gateway to which this mobile host belongs.
    pub(super) fn own_home(&self) -> Option<usize> {
        let mut peers = self.peers.iter();
        let is_home = |peer: &Peer| peer.settings.membership.site == SitePart::Home;
        peers
            .find(|(_, peer)| is_home(peer))
            .map(|(index, _)| index)
    }

    pub(super) fn send_site_message(&mut self, now: Instant, to: usize, message: &SiteMessage) {
        self.send_site_messages(now, to, &message.encode());
    }

    /// Sends one message, or several that come together or not at all.
    pub(super) fn send_site_messages(&mut self, now: Instant, to: usize, messages: &[u8]) {
        let peer = &mut self.peers[to];
        let Some(at) = peer.endpoint else { return };
        peer.site.messages = peer.site.messages.wrapping_add(1);
        for part in split(peer.site.messages, messages) {
            self.send_message(now, to, at, &part);
        }
    }

    /// Returns the state of a mobile host that belongs here.
    pub(super) fn home(&mut self, index: usize) -> Option<&mut Home> {
        match &mut self.peers.get_mut(index)?.site.member {
            Member::Home(home) => Some(home),
            Member::Guest(_) | Member::Gateway => None,
        }
    }

    /// Returns the state of a mobile host that belongs to another gateway.
    pub(super) fn guest(&mut self, index: usize) -> Option<&mut Guest> {
        match &mut self.peers.get_mut(index)?.site.member {
            Member::Guest(guest) => Some(guest),
            Member::Home(_) | Member::Gateway => None,
        }
    }

    /// Returns the gateway that is the home of a guest, if it is known.
    pub(super) fn home_of(&self, index: usize) -> Option<usize> {
        match &self.peers.get(index)?.site.member {
            Member::Guest(guest) => self.index_with(&guest.home),
            Member::Home(_) | Member::Gateway => None,
        }
    }

    pub(super) fn key_of(&self, index: usize) -> Key {
        *self.peers[index].settings.public.bytes()
    }

    /// Returns the state of a peer in the site, if that has several gateways.
    pub(crate) fn site_status(&self, now: Instant, index: usize) -> Option<SiteStatus> {
        let peer = self.peers.get(index).filter(|_| self.peers.are_of_site())?;
        let name = |of: usize| self.peers.get(of).map(|peer| peer.settings.name.clone());
        Some(match &peer.site.member {
            _ if self.role == Role::Mobile && self.relay_of(self.mobile.gateway) == Some(index) => {
                SiteStatus::Relays
            }
            _ if self.role == Role::Mobile && self.mobile.serves(index) => SiteStatus::Serves,
            _ if self.role == Role::Mobile => SiteStatus::Reserve,
            Member::Gateway => SiteStatus::Gateway,
            Member::Home(home) => match home.place.or(self.relay_of(index)).and_then(name) {
                Some(gateway) => SiteStatus::At(gateway),
                None => SiteStatus::Here,
            },
            Member::Guest(guest) if guest.service.is_served => {
                let stands_in = guest.exits.is_some() && self.is_home_silent(index);
                if stands_in {
                    SiteStatus::StandsIn
                } else {
                    SiteStatus::Here
                }
            }
            Member::Guest(guest) if guest.is_relayed(now) => SiteStatus::Relays,
            Member::Guest(_) => SiteStatus::Elsewhere,
        })
    }

    /// Returns true if nothing is expected from a peer now: it is a gateway that does not serve this mobile host.
    pub(super) fn is_apart(&self, index: usize) -> bool {
        let is_mobile = self.role == Role::Mobile && self.peers.are_of_site();
        is_mobile && self.mobile.gateway != index
    }

    /// Returns true if a peer is another gateway of this gateway's site.
    pub(super) fn is_gateway(&self, index: usize) -> bool {
        self.role == Role::Gateway && matches!(self.peers[index].site.member, Member::Gateway)
    }

    /// Ends the association with a mobile host that goes on elsewhere; returns what was delivered from it, and the
    /// packets to it that go on.
    pub(super) fn end_service(
        &mut self,
        now: Instant,
        index: usize,
        report: Option<&Report>,
    ) -> (Option<Report>, Vec<Packet>) {
        let association = self.associated(now, index);
        // What comes of them goes on elsewhere. Without this they would find out by their next probe.
        association.let_senders_go(now);
        let own = report.map(|_| association.report(now));
        self.forward(now, index);
        let former = self.replace_association(now, index);
        let packets = former.map(|former| former.withdraw(report).packets);
        (own, packets.unwrap_or_default())
    }

    /// Has the association with a peer take over flows whose senders have windows that fitted another queue.
    pub(super) fn takes_over(&mut self, now: Instant, index: usize) {
        let until = now + SETTLING;
        self.associated(now, index).excuse_queues(now, until);
    }

    /// Gives a peer a new association, which is void until there are new keys; returns the former one. What that knows
    /// of a mobile host remains here, as long as there are keys; what it knows of this one goes to the next gateway.
    pub(super) fn replace_association(
        &mut self,
        now: Instant,
        index: usize,
    ) -> Option<Box<Association>> {
        let has_other_keys = self.waits_for_attachment(index) && self.role == Role::Gateway;
        let peer = &mut self.peers[index];
        peer.site.is_void = !has_other_keys;
        if !peer.presence.is_linked() {
            return self.dissociate(index);
        }
        let mut former = peer.association.take();
        let heir = former.as_deref_mut();
        let heir = heir.filter(|_| self.role == Role::Gateway);
        peer.association = Some(Box::new(peer.unlinked(now, &self.bearer, heir)));
        self.agenda.touch(index, &self.peers);
        former
    }

    /// Takes its association from a peer that goes on elsewhere, if it has one.
    pub(super) fn dissociate(&mut self, index: usize) -> Option<Box<Association>> {
        if let Some(leases) = &mut self.leases {
            leases.end(index);
        }
        self.agenda.touch(index, &self.peers);
        self.peers[index].association.take()
    }

    /// Sends a packet to a peer, by the gateway that serves it.
    pub(super) fn send_to_member(&mut self, now: Instant, index: usize, packet: Packet) {
        self.send_to_next(now, index, &packet);
        let home = self.home_of(index);
        let place = match &mut self.peers[index].site.member {
            Member::Home(home) => {
                if home.moving.is_some() {
                    return self.hold(now, index, packet);
                }
                if let Some(place) = home.place {
                    home.exchange(place).sent += packet.data_segments();
                }
                home.place
            }
            Member::Guest(guest) => {
                let home = home.filter(|_| !guest.service.is_here);
                if home.is_some() {
                    guest.exchange.returned += packet.data_segments();
                }
                home
            }
            Member::Gateway => None,
        };
        self.hand_in(now, place.unwrap_or(index), packet);
    }

    /// Hands a packet to the association with a peer.
    pub(super) fn hand_in(&mut self, now: Instant, index: usize, packet: Packet) {
        self.lend(now, index, packet.capacity());
        let input = association::Input::Packet(packet);
        self.associated(now, index).handle_input(now, input);
        self.forward(now, index);
    }

    /// Passes on a packet that another gateway has sent.
    pub(super) fn arrived_from_gateway(&mut self, now: Instant, from: usize, packet: Packet) {
        let Some(ip) = packet.ip() else { return };
        let owner = |address| self.routes.owner(address);
        let [source, destination] = [ip.source(), ip.destination()].map(owner);
        if packet.is_marker() {
            return self.marker_came(now, destination, from, packet);
        }
        if packet.is_marked_copy() {
            return self.copy_came(now, destination, from, packet);
        }
        let serves = |home: &&mut Home| home.is_served_by(from) || home.takes(from, &packet);
        if let Some(index) = source
            && let Some(home) = self.home(index).filter(serves)
        {
            home.exchange(from).carried += packet.data_segments();
            if let Some(packet) = self.leave_elsewhere(now, index, packet)
                && !self.split(now, Origin::Hop, &packet)
            {
                self.outputs.push_back(Output::Packet(packet));
            }
            return self.finish_move(now, index);
        }
        if source.is_some_and(|index| self.leaves_here(now, index, from, &packet)) {
            return self.outputs.push_back(Output::Packet(packet));
        }
        let is_taken = destination.is_some_and(|index| self.take_for(now, index, from, &packet));
        if is_taken {
            return;
        }
        let is_overdue = self.count_late(source, destination, from, &packet);
        let goes_on = !is_overdue && source.is_none();
        match destination.filter(|index| goes_on && self.home(*index).is_some()) {
            // The site's routes may lead to a gateway that has ceased to serve it.
            Some(index) => self.send_to_member(now, index, packet),
            None => self.counts.packets_unroutable += 1,
        }
    }

    /// Passes on a packet to a mobile host that another gateway has sent; returns false if it may not.
    fn take_for(&mut self, now: Instant, index: usize, from: usize, packet: &Packet) -> bool {
        let is_from_home = self.home_of(index) == Some(from);
        match &mut self.peers[index].site.member {
            Member::Guest(guest) if is_from_home => {
                let segments = packet.data_segments();
                guest.exchange.sent += segments;
                let to = match &guest.left {
                    _ if guest.service.is_here => index,
                    Some(_) => {
                        guest.exchange.returned += segments;
                        from
                    }
                    None => return false,
                };
                self.hand_in(now, to, packet.clone());
                self.yield_due(now, index);
                true
            }
            Member::Home(_) => {
                let Some(home) = self.home(index) else {
                    return false;
                };
                let Some(moving) = home.departure_from(now, from) else {
                    return false;
                };
                let (has_left, due) = (moving.has_left(), moving.due);
                let is_there = moving.is_there(packet);
                if has_left && !moving.hold(packet.clone(), true) {
                    return false;
                }
                home.exchange(from).returned += packet.data_segments();
                if has_left {
                    self.agenda.site.set(index, due);
                } else if !is_there {
                    self.go_on(now, index, packet.clone());
                }
                self.finish_move(now, index);
                true
            }
            Member::Guest(_) | Member::Gateway => false,
        }
    }

    /// Does what is due for mobile hosts that move.
    pub(super) fn site_due(&mut self, now: Instant) {
        while let Some(index) = self.agenda.site.pop_due(now) {
            self.finish_move(now, index);
            self.await_former(now, index);
            self.yield_due(now, index);
            self.arrive_if_unserved(now, index);
            self.home_due(now, index);
            self.forget_copies(now, index);
        }
        self.drain_due(now);
        self.tell_due(now);
    }
}
