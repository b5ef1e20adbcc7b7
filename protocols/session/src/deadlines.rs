//! The timers of an endpoint: retries, rekeys, probes, and the expiry of keys.

use units::{Duration, Instant};
use zeroize::Zeroizing;

use crate::endpoint::Endpoint;
use crate::entropy::draw;
use crate::identity::Addressed;
use crate::message::{self, Greeting, initiation_noise_mut};
use crate::noise;
use crate::output::{Event, PeerId, Route};
use crate::peer::{Flight, Side};

/// Time from the first transmission of an initiation to the next, if it is not known how long an answer takes, and the
/// longest such time. In between it is a quarter of the time since the first one: most fades and restarts are short,
/// but some fades last hours.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LATEST_RETRY: Duration = Duration::from_secs(5);
/// Least such time, and the number of round trips in it: an answer may be late before it counts as lost.
const LEAST_RETRY: Duration = Duration::from_millis(250);
const ROUND_TRIPS: u64 = 4;
/// Largest random addition, as a part of the first such time, so that the mobile hosts of a restarted gateway do not
/// all initiate at once.
const JITTER_PART: u64 = 3;
/// Least time between two transmissions, however often the link comes up.
const HASTE_GAP: Duration = Duration::from_millis(100);
/// Time for which an initiation is repeated unchanged, so that a late answer to any copy is still valid. It ends well
/// before the responder drops its answer.
const INITIATION_LIFE: Duration = Duration::from_secs(60);
/// Latest time that a clock may show: the year 2262. Only a counter goes on from here, in steps of at most
/// [`STAMP_STEP`], so that no clock and no peer can use up the stamps.
pub(crate) const LATEST_STAMP: u64 = 1 << 63;
/// Largest step of a stamp beyond [`LATEST_STAMP`].
pub(crate) const STAMP_STEP: u64 = 1 << 32;
/// Granularity of the stamps, which hides the exact clock: 2^24 ns.
const STAMP_GRAIN: u64 = 1 << 24;

impl Flight {
    /// Returns true if the initiation may be sent again unchanged.
    fn may_be_repeated(&self, now: Instant) -> bool {
        let is_old = now.since(self.created) >= INITIATION_LIFE;
        !self.is_refused && !is_old && self.next_own == self.own
    }

    /// Returns the time that an answer has taken that comes now; `None` if it may be one to another transmission.
    pub(crate) fn round_trip(&self, now: Instant) -> Option<Duration> {
        let was_sent_once = self.sent == self.created && !self.has_hurried;
        was_sent_once.then(|| now.since(self.sent))
    }

    /// Replaces it soon by one with a later stamp.
    pub(crate) fn refuse(&mut self, now: Instant) {
        self.next_own = self.own;
        self.go_on(now);
    }

    /// Replaces it soon by the next one.
    pub(crate) fn go_on(&mut self, now: Instant) {
        self.is_refused = true;
        self.resend_at = now.max(self.sent + HASTE_GAP);
    }

    /// Replaces it after a pause, as if there had been no answer for long: the operator may admit the key again.
    pub(crate) fn decline(&mut self, now: Instant) {
        self.is_refused = true;
        self.resend_at = now + LATEST_RETRY;
    }
}

impl Endpoint {
    /// Handles all due timers of one peer.
    pub(crate) fn act_on_deadlines(&mut self, now: Instant, id: PeerId) {
        self.expire(now, id);
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let rekey_is_due = peer.rekey_at(&self.limits).is_some_and(|at| at <= now);
        let Side::Initiator(initiator) = &mut peer.side else {
            return;
        };
        let is_impatient = initiator.impatient_at().is_some_and(|at| at <= now);
        let is_due = if let Some(flight) = &initiator.flight {
            flight.resend_at <= now
        } else {
            if is_impatient {
                self.send_empty(now, id);
            }
            is_impatient || rekey_is_due
        };
        if is_due {
            self.send_initiation(now, id);
        }
    }

    /// Ends a handshake that only silence has caused: the peer has answered under the present keys.
    pub(crate) fn end_impatience(&mut self, now: Instant, id: PeerId) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let is_due = peer.rekey_at(&self.limits).is_some_and(|at| at <= now);
        if let Side::Initiator(initiator) = &mut peer.side
            && let Some(flight) = initiator.flight.take_if(|_| !is_due)
        {
            self.by_index.remove(&flight.index);
            self.reschedule(id);
        }
    }

    /// Retries within about a second although the peer has been silent for long: see [`Endpoint::retry_soon`].
    pub(crate) fn retry_earlier(&mut self, now: Instant, id: PeerId) {
        let jitter = self.jitter(FIRST_RETRY);
        if let Ok(initiator) = self.initiator(id)
            && let Some(flight) = &mut initiator.flight
        {
            let soon = now.max(flight.sent + FIRST_RETRY + jitter);
            flight.resend_at = flight.resend_at.min(soon);
        }
    }

    /// Returns a random addition to the first time between two transmissions.
    fn jitter(&mut self, first: Duration) -> Duration {
        let chance = u64::from(u32::from_le_bytes(draw(&mut *self.entropy)));
        (first / JITTER_PART).scaled(chance, 1 << 32)
    }

    /// Retries at once: see [`Endpoint::retry_now`].
    pub(crate) fn hasten(&mut self, now: Instant, id: PeerId) {
        let Some(Side::Initiator(initiator)) = self.peers.get(&id).map(|peer| &peer.side) else {
            return;
        };
        match &initiator.flight {
            Some(flight) if now.since(flight.sent) < HASTE_GAP => {}
            Some(_) => self.send_initiation(now, id),
            None => self.send_empty(now, id),
        }
    }

    /// Sends the initiation in flight again, or a new one if there is none or it is too old.
    pub(crate) fn send_initiation(&mut self, now: Instant, id: PeerId) {
        let Ok(initiator) = self.initiator(id) else {
            return;
        };
        let former = initiator.flight.take();
        let first = initiator.round_trip.map_or(FIRST_RETRY, |time| {
            (time * ROUND_TRIPS).clamp(LEAST_RETRY, FIRST_RETRY)
        });
        let trying_since = former.as_ref().map_or(now, |flight| flight.trying_since);
        let mut flight = match former {
            Some(flight) if flight.may_be_repeated(now) => flight,
            old => {
                let own = old.as_ref().map_or(Addressed::Present, |old| old.next_own);
                if let Some(old) = old {
                    self.by_index.remove(&old.index);
                }
                let Some(flight) = self.new_flight(now, id, own) else {
                    return;
                };
                self.by_index.insert(flight.index, id);
                Box::new(flight)
            }
        };
        let retry = (now.since(trying_since) / 4).clamp(first, LATEST_RETRY);
        flight.trying_since = trying_since;
        flight.sent = now;
        flight.resend_at = now + retry + self.jitter(first);
        flight.has_hurried = false;
        if let Ok(initiator) = self.initiator(id) {
            let initiation = flight.signed(now, initiator.cookie);
            initiator.flight = Some(flight);
            self.transmit(id, Route::Anywhere, initiation);
        }
    }

    /// Returns a new handshake with this key of this host, and a fresh ephemeral, index and stamp.
    fn new_flight(&mut self, now: Instant, id: PeerId, own: Addressed) -> Option<Flight> {
        let index = self.new_index();
        let unix_nanos = self.identity.unix_nanos(now).min(LATEST_STAMP);
        let initiator = self.initiator(id).ok()?;
        let stamp =
            (unix_nanos - unix_nanos % STAMP_GRAIN).max(initiator.last_stamp.saturating_add(1));
        initiator.last_stamp = stamp;
        let ephemeral = Zeroizing::new(draw(&mut *self.entropy));
        let peer = self.peers.get(&id)?;
        let greeting = Greeting {
            index,
            known: peer.in_use.map_or(0, |known| known.session),
            features: peer.features,
            stamp,
        };
        let local = noise::Local {
            private_key: &self.identity.addressee(own).private,
            prologue: noise::PROLOGUE,
            ephemeral,
        };
        let mut state = noise::initiator(&local, &peer.public_key, &peer.preshared_key);
        let mut initiation = message::new_initiation();
        state
            .write_message(&greeting.encode(), initiation_noise_mut(&mut initiation))
            .expect("the place is as long as the message");
        peer.mac1_key.sign(&mut initiation);
        Some(Flight {
            index,
            state,
            own,
            next_own: self.identity.other_than(own),
            initiation,
            created: now,
            trying_since: now,
            sent: now,
            resend_at: now,
            has_hurried: false,
            is_refused: false,
        })
    }

    /// Drops keys that have expired.
    fn expire(&mut self, now: Instant, id: PeerId) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let had_session = peer.sessions.current.is_some();
        for slot in peer.sessions.slots() {
            if let Some(old) = slot.take_if(|transport| !self.limits.allow(transport, now)) {
                self.by_index.remove(&old.terms.local_index);
            }
        }
        if let Side::Responder(responder) = &mut peer.side
            && peer.sessions.next.is_none()
        {
            responder.forget_answer();
        }
        if had_session && peer.sessions.current.is_none() {
            self.announce(Event::Expired { peer: id });
        }
    }
}
