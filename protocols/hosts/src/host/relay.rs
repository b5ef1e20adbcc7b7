//! The datagrams of a mobile host whose home remains the other end of its hop wherever it is: other gateways of the
//! site relay them, sealed as they are.

use session::{DATA_HEADER_BYTES, PublicKey};
use units::Instant;
use wire::address::{HopAddress, Relay};
use wire::hop::RelayHeader;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use super::{Host, TAG};
use crate::site::{Member, SiteMessage};
use crate::{EventKind, Output, Role};

/// A datagram within one of a peer.
pub(super) struct Inner {
    pub(super) header: RelayHeader,
    /// Time when that one arrived.
    pub(super) arrived: Instant,
    /// ECN field of that one.
    pub(super) ecn: Ecn,
    pub(super) buffer: PacketBuffer,
}

/// What happens to a relayed datagram.
enum Course {
    /// It is for this host, from this address.
    Arrives(HopAddress),
    /// It goes on to this peer.
    GoesOn(usize, RelayHeader),
}

impl Host {
    /// Puts a sealed datagram on its way to an address.
    pub(super) fn dispatch(
        &mut self,
        now: Instant,
        to: HopAddress,
        buffer: PacketBuffer,
        ecn: Ecn,
    ) {
        let HopAddress::Relay(relay) = to else {
            self.outputs.push_back(Output::Datagram { to, buffer, ecn });
            return;
        };
        let behind = self.peers.get(relay.to as usize);
        let header = behind.map(|behind| match self.role {
            Role::Mobile => RelayHeader::Own,
            Role::Gateway => RelayHeader::Of(*behind.settings.public.bytes()),
        });
        match header {
            Some(header) => self.relay(now, relay.by as usize, header, buffer, ecn),
            None => self.counts.frames_unsent += 1,
        }
    }

    /// Sends a sealed datagram to a peer that passes it on, or is its receiver.
    fn relay(
        &mut self,
        now: Instant,
        index: usize,
        header: RelayHeader,
        buffer: PacketBuffer,
        ecn: Ecn,
    ) {
        let peer = self.peers.get(index);
        let at = peer.and_then(|peer| Some((peer.id, peer.endpoint?)));
        let Some((id, to)) = at.filter(|(_, to)| !to.is_relayed()) else {
            self.counts.frames_unsent += 1;
            return;
        };
        let mut buffer = with_room(buffer, DATA_HEADER_BYTES + header.length());
        header.write(buffer.grow_front(header.length()));
        buffer.grow_front(DATA_HEADER_BYTES);
        buffer.grow(TAG);
        if self.endpoint.seal(now, id, &mut buffer).is_ok() {
            self.outputs.push_back(Output::Datagram { to, buffer, ecn });
        } else {
            // It counts as lost on the air.
            self.counts.frames_unsent += 1;
        }
    }

    /// Handles a datagram that a peer has relayed, or wants relayed.
    pub(super) fn relayed(&mut self, now: Instant, from: usize, inner: Inner) {
        let Inner {
            header,
            arrived,
            ecn,
            buffer,
        } = inner;
        match self.course(now, from, header) {
            Some(Course::Arrives(at)) => self.datagram(now, at, arrived, ecn, buffer),
            Some(Course::GoesOn(to, header)) => self.relay(now, to, header, buffer, ecn),
            None => self.counts.packets_unroutable += 1,
        }
    }

    fn course(&mut self, now: Instant, from: usize, header: RelayHeader) -> Option<Course> {
        let arrives = |to: usize| {
            let (by, to) = (from as u32, to as u32);
            Course::Arrives(HopAddress::Relay(Relay { by, to }))
        };
        let is_gateway = matches!(self.peers[from].site.member, Member::Gateway);
        match (self.role, header) {
            (Role::Mobile, RelayHeader::Own) => {
                let home = self.own_home().filter(|home| *home != from);
                home.filter(|_| is_gateway).map(arrives)
            }
            (Role::Gateway, RelayHeader::Own) => {
                let home = self.home_of(from)?;
                self.change_guest(from, |guest| guest.relayed = Some(now));
                self.sent_to_home(now, home);
                Some(Course::GoesOn(home, RelayHeader::Of(self.key_of(from))))
            }
            (Role::Gateway, RelayHeader::Of(mobile)) if is_gateway => {
                let mobile = self.index_with(&PublicKey::from_bytes(mobile))?;
                match &self.peers[mobile].site.member {
                    Member::Home(_) => Some(arrives(mobile)),
                    Member::Guest(_) if self.home_of(mobile) == Some(from) => {
                        Some(Course::GoesOn(mobile, RelayHeader::Own))
                    }
                    Member::Guest(_) | Member::Gateway => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the gateway through which a peer is reached, if another one relays.
    pub(super) fn relay_of(&self, index: usize) -> Option<usize> {
        match self.peers.get(index)?.endpoint? {
            HopAddress::Relay(relay) => Some(relay.by as usize),
            _ => None,
        }
    }

    /// Returns the gateway to which this mobile host is attached: the one that serves it, or that relays.
    pub(super) fn attached_to(&self) -> usize {
        let gateway = self.mobile.gateway;
        self.relay_of(gateway).unwrap_or(gateway)
    }

    /// Returns true if this mobile host can move by another path to its home, which remains the other end of its hop.
    pub(super) fn may_keep_its_home(&self) -> bool {
        self.own_home() == Some(self.mobile.gateway)
    }

    /// Returns the address of the home by way of a gateway.
    pub(super) fn path_by(&self, gateway: usize) -> Option<HopAddress> {
        let home = self.mobile.gateway;
        if gateway == home {
            return self.mobile.direct.or(self.peers[home].settings.endpoint);
        }
        let (by, to) = (gateway as u32, home as u32);
        Some(HopAddress::Relay(Relay { by, to }))
    }

    /// Begins to try the path to the home by way of a gateway.
    pub(super) fn begin_trial(&mut self, now: Instant, by: usize) {
        if let Some(attachment) = &mut self.mobile.attachment {
            attachment.to = by;
            attachment.due = Some(now);
            self.announce_move();
            self.attach_due(now);
        }
    }

    /// Asks the home to answer by way of the next gateway, and that gateway itself.
    pub(super) fn try_path(&mut self, now: Instant, by: usize) {
        let home = self.mobile.gateway;
        let trial = self.mobile.attachment.as_ref().and_then(|next| next.trial);
        if trial.is_some_and(|trial| trial.is_futile(by == home)) {
            return self.end_futile_trial(now, by);
        }
        let beside = self.peers[by].endpoint.filter(|_| by != home);
        for (index, at) in [(by, beside), (home, self.path_by(by))] {
            if let Some(at) = at {
                self.challenge_way(now, index, at);
            }
        }
    }

    /// The home does not answer: it may have no keys any more. So there are to be new ones by that path, or the gateway
    /// itself is to serve this host.
    fn end_futile_trial(&mut self, now: Instant, by: usize) {
        let home = self.mobile.gateway;
        if by == home && self.goes_on_in_silence(now) {
            return;
        }
        let Some(at) = self
            .path_by(by)
            .filter(|_| by == home || self.peers[home].site.remains)
        else {
            return self.serve_instead(now, by);
        };
        self.take_path(now, by, at);
        // Only a mobile host initiates.
        let _ = self.endpoint.connect(now, self.peers[home].id);
    }

    /// Has the next gateway serve this host, instead of relaying.
    fn serve_instead(&mut self, now: Instant, gateway: usize) {
        if let Some(attachment) = &mut self.mobile.attachment {
            attachment.end_trial(now);
        }
        self.gateway_established(now, gateway, false);
    }

    /// Notes the answer of the gateway whose path to the home is tried.
    pub(super) fn next_gateway_answers(&mut self, now: Instant, index: usize) {
        let attachment = self.mobile.attachment.as_mut();
        if let Some(attachment) = attachment.filter(|next| next.to == index)
            && let Some(trial) = &mut attachment.trial
        {
            trial.gateway_answered(now);
        }
    }

    /// Returns true if an address belongs to a path to a gateway that is not in use, and one of the two is relayed:
    /// this mobile host alone chooses between them.
    pub(super) fn is_other_path(&self, index: usize, at: HopAddress) -> bool {
        let in_use = self.peers[index].endpoint;
        let is_relayed = at.is_relayed() || in_use.is_some_and(HopAddress::is_relayed);
        self.role == Role::Mobile && is_relayed && in_use != Some(at)
    }

    /// The home has answered on a path that is not in use: this mobile host uses it from now on, if it moves there and
    /// the path is short enough. Otherwise the gateway itself is to serve it, if it can.
    pub(super) fn answered_on_other_path(&mut self, now: Instant, index: usize, at: HopAddress) {
        let home = self.mobile.gateway;
        let asked = self.mobile.attachment.as_ref();
        let asked = asked.and_then(|next| Some((next.to, next.trial?)));
        let Some((to, trial)) = asked.filter(|(to, _)| self.path_by(*to) == Some(at)) else {
            return;
        };
        if index != home {
            return;
        }
        if to == home || self.peers[home].site.remains {
            return self.take_path(now, to, at);
        }
        match trial.is_near(now) {
            Some(true) => self.take_path(now, to, at),
            Some(false) => self.serve_instead(now, to),
            // Its answer was lost, and both are asked again.
            None => {}
        }
    }

    /// Reaches the home by way of a gateway from now on.
    fn take_path(&mut self, now: Instant, by: usize, at: HopAddress) {
        let Some(attachment) = self.mobile.attachment.take() else {
            return;
        };
        let home = self.mobile.gateway;
        let former = self.relay_of(home);
        let in_use = self.peers[home].endpoint;
        let direct = in_use.filter(|at| !at.is_relayed());
        self.mobile.direct = direct.or(self.mobile.direct);
        self.mobile.watch.answered();
        self.redirect(now, home, at);
        self.part_from(now, former.filter(|former| *former != by));
        self.mobile.comparisons.moved(now, attachment.cause);
        let lasted = now.since(attachment.since);
        let kind = if by == home {
            EventKind::Attached { lasted, kept: true }
        } else {
            EventKind::Relays { lasted }
        };
        self.announce(by, kind);
        self.catch_up(now);
    }

    /// Tells a gateway, if there is one, that it need not relay for this mobile host any more.
    pub(super) fn part_from(&mut self, now: Instant, relay: Option<usize>) {
        if let Some(relay) = relay.filter(|relay| self.peers.get(*relay).is_some()) {
            self.send_site_message(now, relay, &SiteMessage::Parted);
        }
    }

    /// Has no peer reached through a gateway any more that is removed.
    pub(super) fn end_relay(&mut self, now: Instant, gateway: usize) {
        for index in self.peers.indices() {
            if self.relay_of(index) == Some(gateway) {
                self.end_relay_to(now, index);
            }
        }
    }

    /// Has a peer reached without a relay from now on.
    pub(super) fn end_relay_to(&mut self, now: Instant, index: usize) {
        let relay = self.relay_of(index);
        if relay.is_some() {
            self.part_from(now, relay);
            let direct = self.mobile.direct.or(self.peers[index].settings.endpoint);
            self.peers[index].endpoint = direct;
            self.path_moved(now, index);
        }
    }

    /// Returns the address to which datagrams for a peer leave.
    pub(crate) fn first_hop(&self, index: usize) -> Option<HopAddress> {
        match self.relay_of(index) {
            Some(relay) => self.peers.get(relay)?.endpoint,
            None => self.peers.get(index)?.endpoint,
        }
    }

    /// Returns the event of a peer that is at this address now.
    pub(super) fn moved_to(&self, to: HopAddress) -> EventKind {
        let by = match to {
            HopAddress::Relay(relay) => self.peers.get(relay.by as usize),
            _ => None,
        };
        match by {
            Some(by) => EventKind::Relayed {
                by: by.settings.name.clone(),
            },
            None => EventKind::Moved { to },
        }
    }
}

/// Returns the buffer with this room before its content, and room for another seal behind it.
fn with_room(buffer: PacketBuffer, front: usize) -> PacketBuffer {
    if buffer.headroom() >= front && buffer.tailroom() >= TAG {
        return buffer;
    }
    let mut copy = PacketBuffer::with_room(front + buffer.len() + TAG, front);
    copy.extend(&buffer);
    copy
}
