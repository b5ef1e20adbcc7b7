//! Which gateway of a site serves a mobile host: the part of its home, which decides.

use association::{Association, Report};
use planted::Bug;
use units::{Duration, Instant};
use wire::packet::Packet;

use super::Host;
use crate::EventKind;
use crate::site::{
    Begun, Course, Departure, Home, Late, Member, Request, SiteMessage, Stage, Step, Yielded,
    is_copied, proven_number,
};

/// Pause, beyond a round trip, before a former gateway is asked again to cease.
const AGAIN: Duration = Duration::from_millis(25);

impl Host {
    /// Has a mobile host that belongs here served by the gateway `to` from now on, or by this one, by this attachment.
    pub(super) fn place(&mut self, now: Instant, index: usize, to: Option<usize>, step: Step) {
        let Some(home) = self.home(index) else { return };
        if step.number <= home.number && !planted::is(Bug::NumberIsUsedAgain) {
            return self.place_again(now, index, to, step.number);
        }
        let moving = home.moving.as_deref_mut();
        if let Some(moving) = moving.filter(|moving| moving.stage == Stage::Served) {
            // What the former gateway had goes to the present one first, which passes it on.
            return moving.follow(Request { to, step });
        }
        home.number = step.number;
        let was_elsewhere = home.place.is_some();
        self.announce_exits(index);
        if to.is_none() {
            self.takes_over(now, index);
            if was_elsewhere {
                self.announce(index, EventKind::Established { fresh: true });
            }
            self.begin_with_copies(now, index, step.number);
            let begun = self.begun_with_copies(index, step.number);
            if let Some(home) = self.home(index) {
                home.has_begun(now, step.number, None, begun.unwrap_or_default());
            }
        }
        let Some(home) = self.home(index) else { return };
        let begun = home.end_copying(now, step.number, to);
        if home.moving.is_some() {
            return self.set_next(now, index, to, &step, begun);
        }
        match home.place {
            Some(from) if to != Some(from) => {
                // What another gateway has once delivered says nothing of this one, which may not answer.
                home.answer = None;
                let due = self.patience_ends(now, from);
                if let Some(home) = self.home(index) {
                    home.begin_move(due, from, to, step.report).set_begun(begun);
                }
                self.await_former(now, index);
                self.finish_move(now, index);
            }
            Some(_) => {
                home.answer = None;
                self.answer_attachment(now, index);
            }
            None => self.place_from_here(now, index, to, step.report.as_ref(), &begun),
        }
    }

    /// Notes the next gateway of a mobile host that has left its former one, or has given up its last attachment and
    /// begins anew.
    fn set_next(
        &mut self,
        now: Instant,
        index: usize,
        to: Option<usize>,
        step: &Step,
        begun: Begun,
    ) {
        let moving = self.home(index).and_then(|home| home.moving.as_deref());
        let Some(moving) = moving else { return };
        let (from, has_left, due) = (moving.from, moving.has_left(), moving.due);
        let due = match to {
            // It has gone back, and begun anew there: what that gateway had of it is gone.
            Some(to) if to == from => now,
            Some(_) | None if has_left => self.patience_ends(now, from),
            Some(_) | None => due,
        };
        let moving = self.home(index).and_then(|home| home.moving.as_deref_mut());
        let returned = moving.map(|moving| {
            moving.set_begun(begun);
            moving.set_next(due, to, step)
        });
        for packet in returned.unwrap_or_default() {
            self.go_on(now, index, packet);
        }
        if to != Some(from) {
            self.await_former(now, index);
        }
        self.finish_move(now, index);
    }

    /// A gateway says that a mobile host has left it.
    pub(super) fn left(
        &mut self,
        now: Instant,
        index: usize,
        from: usize,
        step: Step,
        carried: u64,
    ) {
        let Some(home) = self.home(index) else { return };
        let latest = home.number;
        if step.number < latest {
            return;
        }
        let Some(moving) = home.departure_from(now, from) else {
            return;
        };
        if step.number == latest || moving.has_left() {
            moving.leaves(now, Departure { step, carried });
        }
        self.finish_move(now, index);
        self.await_former(now, index);
    }

    /// Passes on a packet that the former gateway of a mobile host has returned.
    pub(super) fn go_on(&mut self, now: Instant, index: usize, packet: Packet) {
        let Some(home) = self.home(index) else { return };
        let to = home.moving.as_deref().and_then(|moving| moving.to);
        if let Some(to) = to {
            home.exchange(to).sent += packet.data_segments();
        }
        self.hand_in(now, to.unwrap_or(index), packet);
    }

    /// Keeps a packet for a mobile host that moves, or passes it on already.
    pub(super) fn hold(&mut self, now: Instant, index: usize, packet: Packet) {
        let moving = self.home(index).and_then(|home| home.moving.as_deref_mut());
        let Some(moving) = moving else { return };
        match moving.course(packet) {
            Course::GoesOn(packet) => self.go_on(now, index, packet),
            Course::Waits(packet, marker) => {
                let (from, held) = (moving.from, moving.hold(packet, false));
                self.counts.packets_unroutable += u64::from(!held);
                if let Some(marker) = marker {
                    self.hand_in(now, from, marker);
                }
            }
        }
    }

    /// A marker has come from a gateway: back from the former one of a mobile host that belongs here; or from the home
    /// of one that is not here any more, to which it goes back.
    pub(super) fn marker_came(
        &mut self,
        now: Instant,
        index: Option<usize>,
        from: usize,
        marker: Packet,
    ) {
        let Some(index) = index else { return };
        if let Some(home) = self.home(index) {
            let moving = home.move_from(from);
            let passed = moving.map(|moving| moving.passed(&marker));
            for packet in passed.unwrap_or_default() {
                self.go_on(now, index, packet);
            }
        } else if self.home_of(index) == Some(from)
            && self
                .guest(index)
                .is_some_and(|guest| !guest.service.is_here)
        {
            self.hand_in(now, from, marker);
        }
    }

    /// Counts a packet of a mobile host, or to one, that has come from its former gateway too late, as that counts it;
    /// returns true if it was waited for no more.
    pub(super) fn count_late(
        &mut self,
        source: Option<usize>,
        destination: Option<usize>,
        from: usize,
        packet: &Packet,
    ) -> bool {
        let segments = packet.data_segments();
        if let Some(home) = source.and_then(|index| self.home(index)) {
            home.exchange(from).count_late(Late::Carried, segments)
        } else if let Some(home) = destination.and_then(|index| self.home(index)) {
            home.exchange(from).count_late(Late::Returned, segments)
        } else {
            false
        }
    }

    /// Returns the time until which what a former gateway still has is waited for: none, if that is gone, or has been
    /// silent for as long already.
    fn patience_ends(&self, now: Instant, gateway: usize) -> Instant {
        let peer = self.peers.get(gateway);
        let Some(peer) = peer.filter(|peer| peer.presence.is_linked()) else {
            return now;
        };
        let silent_since = peer.due(Association::fade_since).unwrap_or(now);
        Home::waits_until(now, silent_since, peer.measured().0)
    }

    /// Repeats what was said about an attachment.
    fn place_again(&mut self, now: Instant, index: usize, to: Option<usize>, number: u64) {
        let mobile = self.key_of(index);
        let Some(home) = self.home(index) else { return };
        let latest = home.number;
        if number < latest {
            // Its clock went back while it did not run, or the message is late.
            let proof = self.prove(Some(index), &proven_number(latest));
            let (whom, message) = match to {
                None => (index, SiteMessage::Behind(latest, proof)),
                Some(gateway) => (gateway, SiteMessage::ArrivedBehind(mobile, latest, proof)),
            };
            return self.send_site_message(now, whom, &message);
        }
        self.announce_exits(index);
        let Some(home) = self.home(index) else { return };
        if let Some(moving) = home.moving.as_deref() {
            if moving.stage == Stage::Served {
                self.answer_attachment(now, index);
            }
            self.await_former(now, index);
        } else if home.place == to {
            self.answer_attachment(now, index);
        }
    }

    /// Passes on a mobile host that this gateway serves.
    fn place_from_here(
        &mut self,
        now: Instant,
        index: usize,
        to: Option<usize>,
        report: Option<&Report>,
        begun: &Begun,
    ) {
        let (answer, mut packets) = match to {
            Some(_) => self.end_service(now, index, report),
            None => (None, Vec::new()),
        };
        if to.is_some() && self.peers[index].presence.is_linked() {
            self.announce(index, EventKind::Left);
        }
        if let Some(home) = self.home(index) {
            home.is_at(to);
            home.answer = answer;
        }
        packets.retain(|packet| !is_copied(packet, begun));
        for packet in packets {
            self.send_to_member(now, index, packet);
        }
        self.answer_attachment(now, index);
    }

    /// Tells the gateway that serves a mobile host now, or the mobile host itself.
    fn answer_attachment(&mut self, now: Instant, index: usize) {
        let mobile = self.key_of(index);
        let Some(home) = self.home(index) else { return };
        let step = Step {
            number: home.number,
            report: home.answer.clone(),
        };
        match home.next_place() {
            None => self.send_site_message(now, index, &SiteMessage::Attached(step)),
            Some(to) => {
                let is_whole = home.moving.is_none();
                let message = SiteMessage::Serve(mobile, step, is_whole);
                self.send_site_message(now, to, &message);
            }
        }
    }

    /// Waits for the former gateway of a mobile host: asks it to cease to serve that, until it has answered.
    pub(super) fn await_former(&mut self, now: Instant, index: usize) {
        let mobile = self.key_of(index);
        let Some(home) = self.home(index) else { return };
        let number = home.number;
        let Some(moving) = home.moving.as_deref() else {
            return;
        };
        let (from, due) = (moving.from, moving.due);
        match moving.stage {
            Stage::Away => {}
            Stage::Asked | Stage::Served if moving.awaited.is_none() => {
                let step = Step {
                    number,
                    report: moving.report.clone(),
                };
                let sent = home.exchange(from).sent;
                let message = SiteMessage::Yield { mobile, step, sent };
                self.send_site_message(now, from, &message);
                let round_trip = self.peers[from].measured().0.unwrap_or_default();
                self.agenda
                    .site
                    .set(index, due.min(now + AGAIN + round_trip));
            }
            Stage::Left | Stage::Asked | Stage::Served => self.agenda.site.set(index, due),
        }
    }

    /// The former gateway of a mobile host has ceased to serve it.
    pub(super) fn yielded(
        &mut self,
        now: Instant,
        index: usize,
        from: usize,
        step: Step,
        counts: Yielded,
    ) {
        let Some(home) = self.home(index) else { return };
        let is_latest = step.number == home.number;
        let Some(moving) = home.move_from(from).filter(|_| is_latest) else {
            return home.exchange(from).ends_at(counts);
        };
        moving.awaited = Some(counts);
        home.answer = step.report;
        self.finish_move(now, index);
    }

    /// Ends a move, once the former gateway has ceased and all that it has sent has come.
    pub(super) fn finish_move(&mut self, now: Instant, index: usize) {
        self.serve_next(now, index);
        let Some(home) = self.home(index) else { return };
        let Some(moving) = home.end_move(now) else {
            return;
        };
        home.is_at(moving.to);
        self.agenda.site.clear(index);
        let (next, held) = moving.end();
        for packet in held {
            self.send_to_member(now, index, packet);
        }
        self.answer_attachment(now, index);
        if let Some(Request { to, step }) = next {
            self.place(now, index, to, step);
        }
    }

    /// Has the next gateway serve a mobile host that has left the former one, once all that it has sent there has come.
    fn serve_next(&mut self, now: Instant, index: usize) {
        let Some(home) = self.home(index) else { return };
        if let Some(left) = home.begins_to_serve() {
            home.answer = left.step.report;
            self.answer_attachment(now, index);
        }
    }

    /// Has no mobile host served by a gateway any more that is removed.
    pub(super) fn leave_place(&mut self, gateway: usize) {
        for (_, peer) in self.peers.iter_mut() {
            if let Member::Home(home) = &mut peer.site.member {
                home.leave(gateway);
            }
        }
    }
}
