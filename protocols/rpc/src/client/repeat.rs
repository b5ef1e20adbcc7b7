//! Sending, and sending again.

use units::Instant;

use crate::{Class, Failure, LinkEvent, Output, Situation};

use super::Client;
use super::table::{Pending, Transmissions};

impl Client {
    /// Sends a call, be it for the first time or not.
    pub(super) fn transmit(&mut self, now: Instant, xid: u32) {
        let rule = self.config.retransmission.rule();
        let worked = self.link.worked(now, rule.believes());
        let Some(call) = self.table.get_mut(xid) else {
            return;
        };
        let learned = self.learned[call.class.index()];
        self.places += 1;
        let place = self.places;
        let sent = call.sent.get_or_insert_with(|| {
            call.doubts.timeouts = learned.timeouts;
            Transmissions {
                count: 0,
                first: now,
                last: now,
                first_place: place,
                last_place: place,
                worked,
            }
        });
        sent.count = sent.count.saturating_add(1);
        (sent.last, sent.last_place) = (now, place);
        call.doubts.overtakers = 0;
        self.counters.sent.messages += 1;
        self.counters.sent.bytes += call.message.len() as u64;
        self.outputs.push_back(Output::Send(call.message.clone()));
        let due = if let Some(stream) = &mut self.stream {
            stream.asked(now);
            call.expires
        } else {
            let situation = Situation {
                timeouts: call.doubts.timeouts,
                round_trip: learned.round_trip,
            };
            Some(now + rule.wait(&situation))
        };
        self.table.set_due(xid, due);
    }

    /// The time of a call has come.
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
        } else {
            call.doubts.timeouts = call.doubts.timeouts.saturating_add(1);
            let learned = &mut self.learned[call.class.index()];
            learned.timeouts = learned.timeouts.max(call.doubts.timeouts).min(carried);
            self.counters.repeated.timeouts += 1;
            self.transmit(now, xid);
        }
    }

    /// The hop has news. A stream looks after itself.
    pub(super) fn link_event(&mut self, now: Instant, event: LinkEvent) {
        if self.stream.is_some() {
            return;
        }
        let believed = self.believed();
        match event {
            LinkEvent::FadeBegan | LinkEvent::HandoffImpending => self.link.begin(now, believed),
            LinkEvent::FadeEnded { kept: true } => {
                self.link.end(now, believed);
                self.each_under_way(|client, xid| client.wait_anew(now, xid));
            }
            LinkEvent::FadeEnded { kept: false } | LinkEvent::HandoffDone => {
                let began = self.link.end(now, believed).unwrap_or(now);
                self.each_under_way(|client, xid| client.resume(now, xid, began));
            }
        }
    }

    fn each_under_way(&mut self, mut act: impl FnMut(&mut Self, u32)) {
        for xid in self.table.under_way() {
            act(self, xid);
        }
    }

    fn situation(&self, call: &Pending) -> Situation {
        Situation {
            timeouts: call.doubts.timeouts,
            round_trip: self.learned[call.class.index()].round_trip,
        }
    }

    /// Nothing was lost, but all of it is late: the wait starts again, for a rule that listens.
    fn wait_anew(&mut self, now: Instant, xid: u32) {
        let Some(call) = self.table.get(xid) else {
            return;
        };
        let situation = self.situation(call);
        if self
            .config
            .retransmission
            .rule()
            .resume(&situation, false)
            .is_some()
        {
            let wait = self.config.retransmission.wait(&situation);
            self.table.set_due(xid, Some(now + wait));
        }
    }

    /// What was under way while the hop did not work, since `began`, may be lost.
    fn resume(&mut self, now: Instant, xid: u32, began: Instant) {
        let rule = self.config.retransmission.rule();
        let Some(call) = self.table.get_mut(xid) else {
            return;
        };
        let Some(sent) = call.sent else {
            return;
        };
        let situation = Situation {
            timeouts: call.doubts.timeouts.min(rule.carried()),
            round_trip: self.learned[call.class.index()].round_trip,
        };
        let Some(after) = rule.resume(&situation, sent.last >= began) else {
            return;
        };
        call.doubts.timeouts = situation.timeouts;
        let due = sent.last + after;
        if due <= now {
            self.counters.repeated.resumed += 1;
            self.transmit(now, xid);
        } else {
            self.table.set_due(xid, Some(due));
        }
    }

    /// A call of the class that was sent at this place is answered: what was sent before it may be lost.
    pub(super) fn overtake(&mut self, now: Instant, class: Class, place: u64) {
        let Some(enough) = self.config.retransmission.rule().overtakers() else {
            return;
        };
        let Some(usual) = self.round_trip(class).filter(|_| self.stream.is_none()) else {
            return;
        };
        let overdue = now - usual.smoothed;
        for xid in self.table.overtaken(class, place) {
            let Some(call) = self.table.get_mut(xid) else {
                continue;
            };
            call.doubts.overtakers += 1;
            let is_overdue = call.sent.is_some_and(|sent| sent.last <= overdue);
            if is_overdue && call.doubts.overtakers >= enough {
                self.counters.repeated.overtaken += 1;
                self.transmit(now, xid);
            }
        }
    }

    /// There is a new stream: what was under way on the old one is sent again.
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

    /// The stream is of no more use.
    pub(super) fn give_up_stream(&mut self) {
        if let Some(stream) = self.stream.as_mut().filter(|stream| stream.is_connected()) {
            stream.disconnect();
            self.outputs.push_back(Output::Reconnect);
        }
    }
}
