//! Which gateway of a site serves a mobile host: the part of the mobile host.

use session::PublicKey;
use units::Instant;
use wire::address::HopAddress;

use super::Host;
use crate::site::{
    Attachment, Cause, Member, SiteMessage, Step, Trial, Watch, WatchStep, is_avoided,
    proven_attachment,
};
use crate::{EventKind, Role};

impl Host {
    /// Begins to move to another gateway of the site. Does nothing if it serves this host already.
    pub(super) fn move_to(&mut self, now: Instant, to: usize, cause: Cause) {
        // Without the gateway that served it and without a home, it begins with the next one that is added.
        let is_lone = self.peers.get(self.mobile.gateway).is_none();
        // One that relays to a silent home can serve.
        let stays = self.attached_to() == to && cause != Cause::Silence;
        let is_attached = stays || self.mobile.attachment.is_some();
        if is_lone || self.role != Role::Mobile || is_attached {
            return;
        }
        self.begin_attachment(now, to, cause);
        if cause == Cause::Announced {
            return self.ask_candidates(now);
        }
        if self.peers[to].presence.is_linked() {
            return self.gateway_established(now, to, false);
        }
        // Only a mobile host initiates.
        let _ = self.endpoint.connect(now, self.peers[to].id);
    }

    /// Notes what shows whether the gateway that serves this host is there, in a site with several.
    pub(super) fn watched(&mut self, index: usize, note: impl FnOnce(&mut Watch)) {
        let is_it = self.role == Role::Mobile && self.peers.are_of_site();
        if is_it && self.mobile.gateway == index && self.mobile.attachment.is_none() {
            note(&mut self.mobile.watch);
        }
    }

    /// Asks the gateway that serves this host for a sign of life, or another one to serve it, if that is due.
    pub(super) fn watch_due(&mut self, now: Instant) {
        let index = self.mobile.gateway;
        let Some(peer) = self.peers.get(index) else {
            // It was removed, after a goodbye that was the last to be watched.
            self.mobile.watch = Watch::default();
            return;
        };
        let (at, (round_trip, _)) = (peer.endpoint, peer.measured());
        let round_trip = round_trip.unwrap_or_default();
        match (self.mobile.watch.step(now, round_trip), at) {
            (Some(WatchStep::Ask), Some(at)) => {
                self.challenge_way(now, index, at);
            }
            (Some(WatchStep::Move), _) if self.mobile.attachment.is_none() => {
                self.move_in_silence(now);
            }
            _ => {}
        }
    }

    /// Asks the next gateway to serve this host, as its own is silent.
    fn move_in_silence(&mut self, now: Instant) {
        if let Some(next) = self.next_gateway(now, Cause::Silence) {
            self.mobile.watch.tried();
            self.move_to(now, next, Cause::Silence);
        }
    }

    /// Goes on to the next gateway, as the home, which was silent by way of another one, does not answer by its own
    /// path either; returns false if all have been tried.
    pub(super) fn goes_on_in_silence(&mut self, now: Instant) -> bool {
        let attachment = self.mobile.attachment.as_ref();
        let is_silence = attachment.is_some_and(|next| next.cause == Cause::Silence);
        let goes_on = is_silence && self.mobile.watch.tries() <= self.others().len();
        if goes_on {
            self.give_up_attachment(now);
            self.move_in_silence(now);
        }
        goes_on
    }

    /// Returns the gateways to which this mobile host is not attached.
    pub(super) fn others(&self) -> Vec<usize> {
        let present = self.attached_to();
        let gateways = self.peers.iter().filter(|(index, peer)| {
            *index != present && matches!(peer.site.member, Member::Gateway)
        });
        gateways.map(|(index, _)| index).collect()
    }

    /// Gives up an attachment that was begun because this gateway was silent: it has been heard.
    pub(super) fn gateway_is_back(&mut self, now: Instant, index: usize, from: HopAddress) {
        let is_on_path = self.peers[index].endpoint == Some(from);
        let is_needless = |attachment: &Attachment| {
            let has_asked = attachment.freezes();
            let may_end = attachment.trial.is_none() || is_on_path;
            // One that has refused was never silent.
            let is_in_silence = attachment.cause == Cause::Silence && !attachment.is_after_refusal;
            is_in_silence && may_end && !has_asked
        };
        let attachment = self.mobile.attachment.as_ref();
        if self.mobile.gateway == index && attachment.is_some_and(is_needless) {
            self.give_up_attachment(now);
        }
    }

    /// Returns the gateway to try or to compare after the last one. Those that are to be avoided come last, and only if
    /// the present one is silent or will be. Once all others of a silent one were tried, so is one that relays: the
    /// silence may be its home's.
    pub(super) fn next_gateway(&mut self, now: Instant, cause: Cause) -> Option<usize> {
        let mut gateways = self.others();
        if cause == Cause::Silence && self.mobile.watch.tries() >= gateways.len() {
            gateways.extend(self.relay_of(self.mobile.gateway));
        }
        let rank = |index: usize| (is_avoided(self.peers[index].site.avoided, now), index);
        let ranked = gateways.into_iter().map(rank);
        let takes_all = matches!(cause, Cause::Silence | Cause::Announced);
        let mut all: Vec<_> = ranked
            .filter(|(is_last, _)| !is_last || takes_all)
            .collect();
        all.sort_unstable();
        let last = all
            .iter()
            .position(|(_, index)| *index == self.mobile.comparisons.last);
        let next = last.map_or(0, |last| (last + 1) % all.len());
        let (_, index) = *all.get(next)?;
        self.mobile.comparisons.last = index;
        Some(index)
    }

    fn begin_attachment(&mut self, now: Instant, to: usize, cause: Cause) {
        let may_try = self.may_keep_its_home() && cause != Cause::First;
        let side = &mut self.mobile;
        let wall = self.endpoint.wall_clock(now);
        side.moves.latest = wall.max(side.moves.latest + 1);
        let mut attachment = Attachment::new(now, to, side.moves.latest, cause);
        attachment.trial = may_try.then(Trial::default);
        side.attachment = Some(attachment);
        self.end_comparison(now);
    }

    /// There are new keys with a gateway: asks it to serve this host, if it is to.
    pub(super) fn gateway_established(&mut self, now: Instant, index: usize, anew: bool) {
        if self.role != Role::Mobile || !self.peers.are_of_site() {
            return;
        }
        if anew && index == self.mobile.gateway && self.mobile.attachment.is_none() {
            self.begin_attachment(now, index, Cause::First);
        }
        self.choose_first(now, index);
        let Some(attachment) = &mut self.mobile.attachment else {
            return;
        };
        if attachment.to != index || (attachment.due.is_some() && !anew) {
            return;
        }
        self.peers[index].site.is_void = false;
        if attachment.trial.is_some() {
            return self.begin_trial(now, index);
        }
        if self.gathers(now, index) {
            return;
        }
        let Some(attachment) = &mut self.mobile.attachment else {
            return;
        };
        let begins = attachment.due.replace(now).is_none();
        let former = self.mobile.gateway;
        let reports = former != index && attachment.report.is_none();
        if begins && former != index {
            self.announce_move();
        }
        if reports {
            let report = self.associated(now, former).report(now);
            self.forward(now, former);
            if let Some(attachment) = &mut self.mobile.attachment {
                attachment.report = Some(report);
            }
        }
        self.link(now, former);
        self.link(now, index);
        self.attach_due(now);
    }

    /// Announces the present move, once.
    pub(super) fn announce_move(&mut self) {
        if let Some(attachment) = &mut self.mobile.attachment
            && !std::mem::replace(&mut attachment.is_announced, true)
        {
            let to = attachment.to;
            self.announce(to, EventKind::MoveBegan);
        }
    }

    /// Asks the next gateway to serve this host, if that is due.
    pub(super) fn attach_due(&mut self, now: Instant) {
        let Some(attachment) = &mut self.mobile.attachment else {
            return;
        };
        if attachment.is_over(now) {
            return self.give_up_attachment(now);
        }
        let to = attachment.to;
        if attachment.repeats_handshake(now) {
            if attachment.is_open() {
                return self.ask_candidates(now);
            }
            // Only a mobile host initiates.
            let _ = self.endpoint.retry_now(now, self.peers[to].id);
            return self.follow_sessions(now, None);
        }
        self.gather_due(now);
        let Some(attachment) = &mut self.mobile.attachment else {
            return;
        };
        if attachment.asks(now) {
            if let Some(trial) = &mut attachment.trial {
                trial.ask(now);
                return self.try_path(now, to);
            }
            let has_no_other = matches!(attachment.cause, Cause::First | Cause::Silence);
            let step = Step {
                number: attachment.number,
                report: attachment.report.clone(),
            };
            let content = proven_attachment(&self.peers[to].settings.public, &step);
            let home = self.own_home();
            let proof = self.prove(home, &content);
            let (number, former) = (step.number, self.mobile.gateway);
            // A gateway that is silent, or has begun anew, has nothing to return.
            if !has_no_other && ![Some(to), home].contains(&Some(former)) {
                self.send_site_message(now, former, &SiteMessage::Leave(step.clone()));
            }
            let home = home.map(|home| self.key_of(home)).unwrap_or_default();
            let progress = self.last_progress(number);
            let progress = progress.map(|progress| progress.encode());
            let attach = SiteMessage::Attach(step, proof, home).encode();
            let messages = [progress.unwrap_or_default(), attach].concat();
            self.send_site_messages(now, to, &messages);
            if has_no_other {
                self.send_site_message(now, to, &SiteMessage::Alone(number));
            }
        }
    }

    /// Ends a move from or to a gateway that is removed.
    pub(super) fn end_moves_of(&mut self, now: Instant, index: usize) {
        let next = self.mobile.moves_to();
        let is_present = [self.mobile.gateway, self.attached_to()].contains(&index);
        if is_present || self.mobile.comparisons.with() == Some(index) {
            self.end_comparison(now);
        }
        if is_present {
            self.mobile.comparisons.release();
        }
        if self.mobile.gateway == index {
            self.mobile.attachment = None;
        } else if next == Some(index) {
            self.give_up_attachment(now);
        }
    }

    /// Stays with the former gateway, as the next one does not answer. It is asked again if it has refused to serve.
    fn give_up_attachment(&mut self, now: Instant) {
        let Some(attachment) = self.mobile.attachment.take() else {
            return;
        };
        let is_after_refusal = attachment.is_after_refusal;
        self.stay(now, &attachment);
        let former = self.mobile.gateway;
        if is_after_refusal && self.peers[former].presence.is_linked() {
            self.begin_attachment(now, former, Cause::First);
            self.gateway_established(now, former, false);
        }
    }

    fn stay(&mut self, now: Instant, attachment: &Attachment) {
        self.announce(attachment.to, EventKind::NotAttached);
        match attachment.cause {
            Cause::Asked => self.mobile.comparisons.release(),
            Cause::Better => self.mobile.comparisons.moved(now, Cause::Better),
            Cause::Announced => self.leave_spare(now),
            Cause::First | Cause::Silence => {}
        }
        if attachment.trial.is_some() {
            // There are new keys with it the next time.
            if ![self.mobile.gateway, self.attached_to()].contains(&attachment.to) {
                self.leave_gateway(now, attachment.to);
            }
            return;
        }
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
        if side.attachment.is_none() && side.gateway == index && side.moves.latest <= latest {
            // It was served while its home was silent, which knows of an earlier life of this host.
            side.moves.latest = latest;
            self.begin_attachment(now, index, Cause::First);
            return self.gateway_established(now, index, false);
        }
        if let Some(attachment) = &mut side.attachment
            && attachment.to == index
            && attachment.number <= latest
        {
            side.moves.latest = latest.saturating_add(1);
            attachment.number = side.moves.latest;
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
        self.mobile.watch.answered();
        let former = self.mobile.gateway;
        self.mobile.comparisons.moved(now, attachment.cause);
        let (mut packets, mut kept) = (Vec::new(), former == index);
        if former != index {
            if let Some(mut association) = self.replace_association(now, former) {
                self.associated(now, index).inherit(&mut association);
                let withdrawn = association.withdraw(step.report.as_ref());
                (packets, kept) = (withdrawn.packets, withdrawn.is_whole);
            }
            self.hand_over_routes(former, index);
            self.leave_gateway(now, former);
            self.end_relay_to(now, former);
        }
        self.link(now, index);
        self.takes_over(now, index);
        for packet in packets {
            self.route(now, packet);
        }
        let lasted = now.since(attachment.since);
        self.announce(index, EventKind::Attached { lasted, kept });
        self.catch_up(now);
    }

    /// Ends the session with a gateway: the next one begins anew.
    pub(super) fn leave_gateway(&mut self, now: Instant, index: usize) {
        // It is known, and only others are refused.
        let _ = self.endpoint.leave(now, self.peers[index].id);
        self.follow_sessions(now, None);
        self.part(now, index);
    }

    fn hand_over_routes(&mut self, former: usize, index: usize) {
        self.mobile.gateway = index;
        self.vacate(former);
        self.route_to(index);
    }

    /// Returns true if nothing may cross the hop to or from a peer: a gateway that does not serve this host yet, or
    /// shall not any more; or a mobile host that has not attached to this gateway since there are keys.
    pub(super) fn waits_for_attachment(&self, index: usize) -> bool {
        let asked = self.mobile.attachment.as_ref();
        match &self.peers[index].site.member {
            Member::Guest(guest) => guest.service.has_other_keys,
            _ => self.mobile.gateway == index && asked.is_some_and(Attachment::freezes),
        }
    }

    /// Returns true if packets of a peer with a source of this owner are passed on: it is the owner, or a gateway that
    /// is about to take its place.
    pub(super) fn owns(&self, index: usize, owner: Option<usize>) -> bool {
        let asked = self.mobile.attachment.as_ref();
        let next = asked.filter(|attachment| attachment.freezes());
        let next = next.map(|attachment| attachment.to);
        owner == Some(index) || (next == Some(index) && owner == Some(self.mobile.gateway))
    }

    /// Returns the key of the gateway with this name, if this is a mobile host.
    pub fn gateway_named(&self, name: &str) -> Option<PublicKey> {
        let mut peers = self.peers.iter().filter(|_| self.role == Role::Mobile);
        let named = peers.find(|(_, peer)| peer.settings.name == name);
        named.map(|(_, peer)| peer.settings.public)
    }

    /// Returns true if this is a mobile host with several gateways, which it compares.
    pub fn compares_gateways(&self) -> bool {
        self.mobile.comparisons.is_on() && self.peers.are_of_site()
    }

    /// Returns the gateway that serves this mobile host.
    pub(crate) fn gateway_index(&self) -> Option<usize> {
        let serving = self.peers.get(self.mobile.gateway);
        let first = || self.peers.iter().next().map(|(index, _)| index);
        serving.map(|_| self.mobile.gateway).or_else(first)
    }
}
