//! The timers of an endpoint: retries, rekeys, probes, and the expiry of keys.

use units::{Duration, Instant};
use zeroize::Zeroizing;

use crate::endpoint::Endpoint;
use crate::entropy::draw;
use crate::message::{self, HandshakePayload, InitiationPayload, initiation_noise_mut};
use crate::noise;
use crate::output::{Event, PeerId, Route};
use crate::peer::{Flight, Side};

/// Time from the first transmission of an initiation to the next.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Time between all later ones, without limit: fades last minutes, and their end should be detected soon.
const LATER_RETRY: Duration = Duration::from_secs(5);
/// Largest random addition to either, so that the mobile hosts of a restarted gateway do not all initiate at once.
const RETRY_JITTER: Duration = Duration::from_millis(333);
/// Least time between two transmissions, however often the link comes up.
const HASTE_GAP: Duration = Duration::from_millis(100);
/// Time for which an initiation is repeated unchanged, so that a late answer to any copy is still valid. It ends well
/// before the responder drops its answer.
const INITIATION_LIFE: Duration = Duration::from_secs(60);
/// Granularity of the stamps, which hides the exact clock: 2^24 ns.
const STAMP_GRAIN: u64 = 1 << 24;

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
        let mut probe = false;
        let mut hopeless = false;
        if let Some(silence) = &mut initiator.silence {
            while silence.deadline().is_some_and(|at| at <= now) {
                silence.steps += 1;
                probe = true;
            }
            hopeless = silence.is_exhausted();
        }
        match &initiator.flight {
            Some(flight) if flight.resend_at <= now => self.send_initiation(now, id, LATER_RETRY),
            None if hopeless || rekey_is_due => self.send_initiation(now, id, FIRST_RETRY),
            _ => {}
        }
        if probe && !hopeless {
            self.send_empty(now, id);
        }
    }

    /// Retries at once: see [`Endpoint::retry_now`].
    pub(crate) fn hasten(&mut self, now: Instant, id: PeerId) {
        let Some(Side::Initiator(initiator)) = self.peers.get(&id).map(|peer| &peer.side) else {
            return;
        };
        match &initiator.flight {
            Some(flight) if now.since(flight.sent) < HASTE_GAP => {}
            Some(_) => self.send_initiation(now, id, FIRST_RETRY),
            None => self.send_empty(now, id),
        }
    }

    /// Sends the initiation in flight again, or a new one if there is none or it is too old.
    fn send_initiation(&mut self, now: Instant, id: PeerId, retry: Duration) {
        let Ok(initiator) = self.initiator(id) else {
            return;
        };
        let mut flight = match initiator.flight.take() {
            Some(flight) if now.since(flight.created) < INITIATION_LIFE => flight,
            old => {
                if let Some(old) = old {
                    self.by_index.remove(&old.index);
                }
                let Some(flight) = self.new_flight(now, id) else {
                    return;
                };
                self.by_index.insert(flight.index, id);
                Box::new(flight)
            }
        };
        let chance = u64::from(u32::from_le_bytes(draw(&mut *self.entropy)));
        flight.sent = now;
        flight.resend_at = now + retry + RETRY_JITTER.scaled(chance, 1 << 32);
        flight.has_hurried = false;
        if let Ok(initiator) = self.initiator(id) {
            let initiation = flight.signed(now, initiator.cookie);
            initiator.flight = Some(flight);
            self.transmit(id, Route::Anywhere, initiation);
        }
    }

    /// Returns a new handshake with a fresh ephemeral, index and stamp.
    fn new_flight(&mut self, now: Instant, id: PeerId) -> Option<Flight> {
        let index = self.new_index();
        let unix_nanos = self
            .identity
            .wall_clock_at_origin
            .saturating_add(now.since_origin().as_nanos());
        let initiator = self.initiator(id).ok()?;
        let stamp =
            (unix_nanos - unix_nanos % STAMP_GRAIN).max(initiator.last_stamp.saturating_add(1));
        initiator.last_stamp = stamp;
        let ephemeral = Zeroizing::new(draw(&mut *self.entropy));
        let peer = self.peers.get(&id)?;
        let answer = HandshakePayload {
            index,
            epoch: self.identity.epoch,
            features: peer.features,
        };
        let greeting = InitiationPayload { answer, stamp };
        let local = noise::Local {
            private_key: &self.identity.private_key,
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
            initiation,
            created: now,
            sent: now,
            resend_at: now,
            has_hurried: false,
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
            responder.answered = None;
        }
        if had_session && peer.sessions.current.is_none() {
            self.announce(Event::Expired { peer: id });
        }
    }
}
