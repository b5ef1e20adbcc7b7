//! The handshake: control packets that establish a connection, and those that refuse it.

use std::sync::Arc;

use redirector::Content;
use units::Instant;

use super::{Connection, Identity, Phase};
use crate::numbers::Numbers;
use crate::offer::Offer;
use crate::packet::{Control, Kind};
use crate::{Config, Profile, Reason};

impl<C: Content + Clone> Connection<C> {
    /// Returns a new connection that this end opens.
    pub(crate) fn open(
        identity: &Identity,
        config: &Arc<Config>,
        offer: Offer,
        now: Instant,
    ) -> Self {
        let config = Arc::clone(config);
        let mut connection = Self::new(identity, Phase::Opening, offer.profile, config);
        connection.agreed.falls_back = offer.falls_back;
        connection.asking.start(now, now);
        connection.send_syn(now);
        connection
    }

    /// Returns a new connection that the peer opens, in a profile that both ends have.
    pub(crate) fn arrived(
        identity: &Identity,
        syn: &Control,
        config: &Arc<Config>,
        now: Instant,
    ) -> Self {
        let profile = syn.profile.min(config.profile);
        let mut connection = Self::new(identity, Phase::Waiting, profile, Arc::clone(config));
        connection.agree(syn, profile);
        let limit = connection.ticks().after(now, config.limits.opening);
        connection.asking.start(now, limit);
        connection.news.arrived = true;
        connection
    }

    /// Takes over the parameters in the peer's `control` packet.
    fn agree(&mut self, control: &Control, profile: Profile) {
        self.names.peer = control.reverse;
        self.agreed.profile = profile;
        self.agreed.packet = self.packet_length(control.packet);
        self.agreed.lean_peer = control.lean;
        self.receiver
            .agreed(&self.config, profile, control.sequence);
        if control.lean {
            self.receiver.must_ask();
        }
        let (window, shift) = control.first_window(profile);
        self.sender
            .agreed(profile, self.agreed.packet, window, shift);
    }

    /// Accepts a connection of the peer, as the driver decided.
    pub(crate) fn accept(&mut self, now: Instant) {
        if self.phase == Phase::Waiting {
            self.phase = Phase::Answered;
            self.asking.start(now, now);
            self.send_syn(now);
        }
    }

    /// Answers a repeated SYN.
    pub(crate) fn repeat_syn(&mut self) {
        match self.phase {
            Phase::Waiting => self.news.control = Some(Kind::Pending),
            Phase::Answered => self.news.control = Some(Kind::SynAck),
            _ => self.receiver.acknowledge_now(),
        }
    }

    /// Returns true if `syn` is the one that opened this connection.
    pub(crate) fn was_asked_by(&self, syn: &Control) -> bool {
        // The peer may have offered the wide profile first, and then the paper's.
        let narrower = self.agreed.profile.min(syn.profile);
        let first = self.receiver.numbers.within(narrower).number(0);
        let same = Numbers::new(syn.sequence, narrower).number(0) == first;
        same && self.addresses == syn.addresses
    }

    /// Polls the peer after a SYN that names another connection as this one: if its sender does not know this
    /// connection any more, it answers the poll with a reset.
    pub(crate) fn challenge(&mut self, now: Instant) {
        self.asking.ask(now);
    }

    /// Returns true if `control` answers this end's SYN.
    fn is_answered_by(&self, control: &Control) -> bool {
        let expected = self.sender.numbers.within(control.profile).number(1);
        self.phase == Phase::Opening && control.acknowledgment == expected
    }

    /// Handles a SYN-ACK. Returns true if it established the connection.
    pub(crate) fn arrive_syn_ack(&mut self, control: &Control, now: Instant) -> bool {
        if !self.is_answered_by(control) {
            if self.names.peer == control.reverse && self.phase == Phase::Open {
                self.receiver.acknowledge_now();
            }
            return false;
        }
        let least = self.addresses.least_profile();
        let common = (least..=self.config.profile).contains(&control.profile);
        if !common || (self.config.lean && control.lean) {
            self.break_off(Reason::Profile);
            return false;
        }
        self.agree(control, control.profile);
        self.receiver.acknowledge_now();
        self.establish(now);
        true
    }

    /// Falls back to the paper's profile if the wide one was offered and the paper's is enough. Returns false if not.
    pub(super) fn fall_back(&mut self, now: Instant) -> bool {
        let falls = std::mem::take(&mut self.agreed.falls_back);
        if falls {
            self.agreed.profile = Profile::Paper;
            self.sender.numbers = self.sender.numbers.within(Profile::Paper);
            self.asking.attempts = 0;
            self.send_syn(now);
        }
        falls
    }

    /// Handles a pending answer: the peer waits for a third host. It reports the result by itself, until this end has
    /// received it: polls only check that the peer is still there.
    pub(crate) fn arrive_pending(&mut self, control: &Control, now: Instant) {
        if self.is_answered_by(control) {
            self.asking.attempts = 0;
            let rarely = self.config.timing.poll_longest;
            self.asking.at = Some(self.ticks().after(now, rarely));
        }
    }

    /// Establishes the connection.
    pub(super) fn establish(&mut self, now: Instant) {
        self.phase = Phase::Open;
        self.asking.start(now, now);
        self.asking.at = None;
        self.news.connected = true;
        self.news.writable = true;
    }

    /// Handles a reset. Returns true if it proves to come from the peer.
    pub(crate) fn arrive_reset(&mut self, control: &Control, reason: Reason, now: Instant) -> bool {
        if self.phase == Phase::Opening {
            let proven = self.is_answered_by(control);
            // A profile wider than the one offered now was refused before.
            let anew = control.profile <= self.agreed.profile || reason != Reason::Profile;
            if proven && anew && !(reason == Reason::Profile && self.fall_back(now)) {
                self.fail(reason);
            }
            return proven;
        }
        if control.profile != self.agreed.profile {
            return false;
        }
        let (next, window) = (self.receiver.next(), self.receiver.window());
        let ahead = self.receiver.numbers.ahead(control.sequence, next);
        let named = control.connection == self.names.own && control.reverse == self.names.peer;
        let proven = ahead == 0 || (named && (0..=window as i64).contains(&ahead));
        if proven {
            self.fail(reason);
        } else if self.phase == Phase::Open {
            // Whoever sent it, the peer knows better (RFC 5961 §3).
            self.challenge(now);
        }
        proven
    }
}
