//! Transmission and retransmission of calls.

use units::{Duration, Instant};

use crate::{Class, Failure, LinkEvent, Output, RuleInput};

use super::Client;
use super::table::{Pending, Transmissions};

impl Client {
    /// Sends a call, for the first time or again.
    pub(super) fn transmit(&mut self, now: Instant, xid: u32) {
        let worked = self.link.worked(now, self.believed());
        let Some(call) = self.table.get(xid) else {
            return;
        };
        let timeouts = match call.sent {
            Some(_) => call.doubts.timeouts,
            None => self.learned[call.class.index()].timeouts,
        };
        let situation = self.situation(call.class, timeouts);
        let Some(call) = self.table.get_mut(xid) else {
            return;
        };
        self.places += 1;
        let sent = call.sent.get_or_insert(Transmissions {
            count: 0,
            first: now,
            last: now,
            first_place: self.places,
            last_place: self.places,
            worked_first: worked,
            worked_last: worked,
        });
        sent.count = sent.count.saturating_add(1);
        (sent.last, sent.last_place) = (now, self.places);
        sent.worked_last = worked;
        call.doubts.timeouts = timeouts;
        call.doubts.overtakers = 0;
        call.doubts.resuming = false;
        self.counters.sent.messages += 1;
        self.counters.sent.bytes += call.message.len() as u64;
        self.outputs.push_back(Output::Send(call.message.clone()));
        let due = if let Some(stream) = &mut self.stream {
            stream.asked(now);
            call.expires
        } else {
            Some(now + self.config.retransmission.wait(&situation))
        };
        self.table.set_due(xid, due);
    }

    /// Returns the policy's input for a call of this class after `timeouts` timeouts.
    fn situation(&self, class: Class, timeouts: u32) -> RuleInput {
        let known = self.learned.iter().filter_map(|class| class.round_trip);
        RuleInput {
            timeouts,
            round_trip: self.round_trip(class),
            slowest: known.max_by_key(|round_trip| round_trip.usual.timeout(Duration::ZERO)),
        }
    }

    /// Handles the deadline of a call.
    pub(super) fn act(&mut self, now: Instant, xid: u32) {
        let until = self.link.believed_until(now, self.believed());
        let carried = self.config.retransmission.rule().carried();
        let Some(call) = self.table.get_mut(xid) else {
            return;
        };
        if call.is_expired(now) {
            let patience = call.patience.unwrap_or_default();
            self.counters.expired += 1;
            self.end(now, xid, Err(Failure::Expired(patience)));
            self.fill(now);
        } else if until.is_some() {
            self.table.set_due(xid, until);
        } else if call.doubts.resuming {
            self.counters.repeated.resumed += 1;
            self.transmit(now, xid);
            self.wait_in_crowd(now, xid);
        } else {
            call.doubts.timeouts = call.doubts.timeouts.saturating_add(1);
            let learned = &mut self.learned[call.class.index()];
            learned.timeouts = learned.timeouts.max(call.doubts.timeouts).min(carried);
            self.counters.repeated.timeouts += 1;
            self.transmit(now, xid);
        }
    }

    /// Doubles the timeout of a call repeated at the end of a fade. These calls go out together, so each waits for
    /// all before it as well: its reply is not overdue before they have had their time too.
    fn wait_in_crowd(&mut self, now: Instant, xid: u32) {
        let Some((class, doubts, _)) = self.table.get(xid).map(Pending::standing) else {
            return;
        };
        let wait = self
            .config
            .retransmission
            .wait(&self.situation(class, doubts.timeouts));
        self.table.set_due(xid, Some(now + wait * 2));
    }

    /// Handles a report of the hop. It is ignored over a stream, which retransmits by itself.
    pub(super) fn link_event(&mut self, now: Instant, event: LinkEvent) {
        if self.stream.is_some() {
            return;
        }
        let believed = self.believed();
        match event {
            LinkEvent::FadeBegan | LinkEvent::HandoffImpending => self.link.begin(now, believed),
            LinkEvent::FadeEnded { kept: true } => {
                self.link.end(now, believed);
                self.each_under_way(|client, xid| client.wait_on(now, xid));
            }
            LinkEvent::FadeEnded { kept: false } | LinkEvent::HandoffDone => {
                let began = self.link.end(now, believed).unwrap_or(now);
                self.works_again(now, began);
            }
        }
    }

    /// Resumes the calls in flight after an outage since `began`. A stream has lost nothing in it.
    pub(super) fn works_again(&mut self, now: Instant, began: Instant) {
        if self.stream.is_none() {
            self.each_under_way(|client, xid| client.resume(now, xid, began));
        }
    }

    fn each_under_way(&mut self, mut act: impl FnMut(&mut Self, u32)) {
        for xid in self.table.under_way() {
            act(self, xid);
        }
    }

    /// Extends the timeout of a call by the duration of a fade that lost nothing but delayed everything, if the
    /// policy uses reports of the hop.
    fn wait_on(&mut self, now: Instant, xid: u32) {
        let policy = self.config.retransmission;
        let worked = self.link.worked(now, self.believed());
        let Some((class, doubts, Some(sent))) = self.table.get(xid).map(Pending::standing) else {
            return;
        };
        let situation = self.situation(class, doubts.timeouts);
        if policy.rule().resume(&situation, false).is_none() {
            return;
        }
        if let Some(call) = self.table.get_mut(xid) {
            call.doubts.resuming = false;
        }
        let waited = worked - sent.worked_last;
        let wait = policy.wait(&situation) - waited;
        self.table.set_due(xid, Some(now + wait));
    }

    /// Schedules a call that was in flight during an outage since `began`, and may be lost.
    fn resume(&mut self, now: Instant, xid: u32, began: Instant) {
        let rule = self.config.retransmission.rule();
        let Some((class, doubts, Some(sent))) = self.table.get(xid).map(Pending::standing) else {
            return;
        };
        let situation = self.situation(class, doubts.timeouts.min(rule.carried()));
        let Some(after) = rule.resume(&situation, sent.last >= began) else {
            return;
        };
        let due = sent.last + after;
        if let Some(call) = self.table.get_mut(xid) {
            call.doubts.timeouts = situation.timeouts;
            call.doubts.resuming = true;
        }
        if due <= now {
            self.act(now, xid);
        } else {
            self.table.set_due(xid, Some(due));
        }
    }

    /// Counts a reply to the call of the class that was sent at `place`: calls sent before it may be lost.
    pub(super) fn overtake(&mut self, now: Instant, class: Class, place: u64) {
        let Some(enough) = self.config.retransmission.rule().overtakers() else {
            return;
        };
        let Some(known) = self.round_trip(class).filter(|_| self.stream.is_none()) else {
            return;
        };
        let enough = enough.max(self.learned[class.index()].reordering);
        let overdue = now - known.usual.smoothed;
        for xid in self.table.overtaken(class, place) {
            let Some(call) = self.table.get_mut(xid) else {
                continue;
            };
            call.doubts.overtakers += 1;
            let is_overdue = call.sent.is_some_and(|sent| sent.last <= overdue);
            if is_overdue && call.doubts.overtakers >= enough {
                call.doubts.overtaken_by = call.doubts.overtakers;
                self.counters.repeated.overtaken += 1;
                self.transmit(now, xid);
            }
        }
    }

    /// Notes a new stream: calls in flight on the old one are sent again.
    pub(super) fn connected(&mut self, now: Instant) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        stream.connect();
        self.each_under_way(|client, xid| {
            client.counters.repeated.reconnected += 1;
            client.transmit(now, xid);
        });
        self.fill(now);
    }

    /// Gives up the stream, and requests a new one.
    pub(super) fn give_up_stream(&mut self) {
        if let Some(stream) = self.stream.as_mut().filter(|stream| stream.is_connected()) {
            stream.disconnect();
            self.outputs.push_back(Output::Reconnect);
        }
    }
}
