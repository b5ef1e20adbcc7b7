//! The handshake: initiations, responses, confirmation.

use planted::Bug;
use snow::HandshakeState;
use units::{Duration, Instant};
use wire::address::HopAddress;
use zeroize::Zeroizing;

use crate::deadlines::{LATEST_STAMP, STAMP_STEP};
use crate::endpoint::Endpoint;
use crate::entropy::draw;
use crate::former::Decline;
use crate::identity::Addressed;
use crate::keys::{PresharedKey, PublicKey};
use crate::lineage::{Lineage, Offer, relate};
use crate::message::{
    self, Answer, Greeting, INITIATION_BYTES, Mac1Key, RESPONSE_BYTES, Relation, initiation_noise,
    response_noise, response_noise_mut, without_mac2,
};
use crate::noise;
use crate::output::{DropCause, Event, PeerId, Route};
use crate::peer::{Accepted, Flight, Peer, ResponderState, Role, Side};
use crate::transport::{Terms, Transport};

/// Least time between two events about refused stamps of one peer.
const REFUSAL_GAP: Duration = Duration::from_secs(60);

/// Effect of an initiation that was read.
pub(crate) enum Reaction {
    /// It is of this peer, and was answered if that was due.
    Handled(PeerId),
    /// Its key is a former one: this is the answer.
    Declined([u8; RESPONSE_BYTES]),
}

impl Endpoint {
    /// Handles an initiation that was admitted.
    pub(crate) fn handle_initiation(
        &mut self,
        now: Instant,
        from: Option<HopAddress>,
        to: Addressed,
        initiation: &[u8; INITIATION_BYTES],
    ) -> Result<Reaction, DropCause> {
        let (state, sender, greeting) = self.read_initiation(to, initiation)?;
        let Some(id) = self.initiator_of(to, &sender) else {
            return self.decline_initiation(now, state, &sender, greeting.index);
        };
        let local_index = self.new_index();
        let peer = self.peers.get_mut(&id).ok_or(DropCause::UnknownPeer)?;
        let Side::Responder(responder) = &mut peer.side else {
            return Err(DropCause::UnexpectedHandshake);
        };
        if let Some(response) = repeated_response(responder, from, initiation)? {
            self.transmit(id, Route::Reply, response);
            return Ok(Reaction::Handled(id));
        }
        let newest_stamp = responder.newest.as_deref().map_or(0, |newest| newest.stamp);
        if !is_next(greeting.stamp, newest_stamp) {
            if !planted::is(Bug::OldStampIsIgnored) {
                let refusal = Answer::Refused { newest_stamp };
                let response = respond(state, &peer.recipient(greeting.index), refusal).0;
                self.transmit(id, Route::Reply, response.into());
                self.announce_refusal(now, id, newest_stamp.saturating_sub(greeting.stamp));
            }
            return Err(DropCause::StaleHandshake);
        }
        let (continued, relation) = relate(greeting.known, peer.in_use, responder.offer.as_ref());
        let answer = Answer::Offered {
            relation,
            index: local_index,
            features: peer.features,
        };
        let (response, state) = respond(state, &peer.recipient(greeting.index), answer);
        let offered = Lineage::next(noise::session_id(&state), continued);
        let terms = Terms {
            local_index,
            remote_index: greeting.index,
            lineage: offered,
            peer_features: greeting.features,
            to,
            created: now,
        };
        let transport = transport(state, terms, Role::Responder);
        if let Side::Responder(responder) = &mut peer.side {
            responder.newest = Some(Box::new(Accepted {
                stamp: greeting.stamp,
                initiation: *initiation,
                asked_from: from,
                response: Some(response),
            }));
            responder.offer = Some(Offer {
                named: greeting.known,
                continued,
                offered,
            });
        }
        if let Some(replaced) = peer.sessions.next.replace(Box::new(transport)) {
            self.by_index.remove(&replaced.terms.local_index);
        }
        self.by_index.insert(local_index, id);
        self.transmit(id, Route::Reply, response.to_vec());
        if relation == Relation::Supersedes {
            self.announce(Event::KeyShared { peer: id });
        }
        Ok(Reaction::Handled(id))
    }

    /// Returns the peer with this key, if a key of this host that it knows is accepted.
    fn initiator_of(&self, to: Addressed, sender: &PublicKey) -> Option<PeerId> {
        let known = self.keys.peers.get(sender).copied();
        known.filter(|_| to != Addressed::Ended)
    }

    /// Answers who has a former key with the reason why it counts no more, and a peer, which knows only a key of this
    /// host that has ended, with that.
    fn decline_initiation(
        &self,
        now: Instant,
        state: HandshakeState,
        sender: &PublicKey,
        index: u32,
    ) -> Result<Reaction, DropCause> {
        let known = self.keys.peers.get(sender);
        let known = known.and_then(|id| self.peers.get(id));
        let reason = known.map(|_| Decline::GatewayKeyEnded);
        let reason = reason.or_else(|| self.keys.former.reason(sender));
        let reason = reason.ok_or(DropCause::UnknownPeer)?;
        let clock = self.identity.unix_nanos(now) / 1_000_000_000;
        let answer = Answer::Declined { reason, clock };
        let (none, mac1_key) = (PresharedKey::none(), Mac1Key::new(sender));
        let to = Recipient {
            preshared_key: known.map_or(&none, |peer| &peer.preshared_key),
            mac1_key: &mac1_key,
            index,
        };
        Ok(Reaction::Declined(respond(state, &to, answer).0))
    }

    /// Handles the response to this host's initiation.
    pub(crate) fn handle_response(
        &mut self,
        now: Instant,
        response: &[u8; RESPONSE_BYTES],
    ) -> Result<PeerId, DropCause> {
        if self.identity.addressed(response).is_none() {
            return Err(DropCause::BadMac);
        }
        let index = message::receiver_of(response);
        let id = self.by_index.get(&index).copied();
        let id = id.ok_or(DropCause::UnexpectedHandshake)?;
        let peer = self.peers.get_mut(&id);
        let peer = peer.ok_or(DropCause::UnexpectedHandshake)?;
        let Side::Initiator(initiator) = &mut peer.side else {
            return Err(DropCause::UnexpectedHandshake);
        };
        let flight = initiator.flight.as_deref_mut();
        let flight = flight
            .filter(|flight| flight.index == index)
            .ok_or(DropCause::UnexpectedHandshake)?;
        if !self.budget.take(now) {
            return Err(DropCause::OverBudget);
        }
        let answer = flight.read(response)?;
        let Answer::Offered {
            relation,
            index: remote_index,
            features: peer_features,
        } = answer
        else {
            return self.turned_down(now, id, answer);
        };
        let former = match relation {
            Relation::Continues => Some(peer.in_use.ok_or(DropCause::BadHandshake)?),
            Relation::Supersedes if planted::is(Bug::SupersededGoesOn) => peer.in_use,
            Relation::BeginsAnew | Relation::Supersedes => None,
        };
        let flight = initiator
            .flight
            .take()
            .ok_or(DropCause::UnexpectedHandshake)?;
        (initiator.silent_since, initiator.key_is_new) = (None, false);
        initiator.round_trip = flight.round_trip(now).or(initiator.round_trip);
        let terms = Terms {
            local_index: index,
            remote_index,
            lineage: Lineage::next(noise::session_id(&flight.state), former),
            peer_features,
            to: flight.own,
            created: flight.created,
        };
        self.install(now, id, transport(flight.state, terms, Role::Initiator));
        if relation == Relation::Supersedes {
            self.announce(Event::KeyShared { peer: id });
        }
        // The responder sends nothing under the new keys until it has received a datagram under them.
        self.send_empty(now, id);
        Ok(id)
    }

    /// Handles an answer that offers no session.
    fn turned_down(
        &mut self,
        now: Instant,
        id: PeerId,
        answer: Answer,
    ) -> Result<PeerId, DropCause> {
        let initiator = self.initiator(id);
        let initiator = initiator.map_err(|_| DropCause::UnexpectedHandshake)?;
        let flight = initiator.flight.as_deref_mut();
        let flight = flight.ok_or(DropCause::UnexpectedHandshake)?;
        match answer {
            Answer::Refused { newest_stamp } => {
                flight.refuse(now);
                let behind = newest_stamp.saturating_sub(initiator.last_stamp);
                initiator.last_stamp = initiator.last_stamp.max(newest_stamp);
                self.announce_refusal(now, id, behind);
            }
            Answer::Declined {
                reason: Decline::Replaced,
                ..
            } if flight.own == Addressed::Former => flight.go_on(now),
            Answer::Declined { reason, clock } => {
                flight.decline(now);
                let peer = id;
                self.announce(Event::Declined {
                    peer,
                    reason,
                    clock,
                });
            }
            Answer::Offered { .. } => {}
        }
        Ok(id)
    }

    /// Puts the next keys in use after the first authentic datagram under them, which proves that the initiator has
    /// them.
    pub(crate) fn confirm(&mut self, now: Instant, id: PeerId) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        if let Side::Responder(responder) = &mut peer.side {
            responder.forget_answer();
            // The initiator has this session, so it will not name one before it.
            responder.offer = None;
        }
        if let Some(next) = peer.sessions.next.take() {
            self.install(now, id, *next);
        }
    }

    /// Puts a session in use; the one before it may still receive.
    fn install(&mut self, now: Instant, id: PeerId, transport: Transport) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let Terms {
            lineage,
            peer_features,
            to,
            created,
            ..
        } = transport.terms;
        let former = peer.in_use.replace(lineage);
        let begins_anew = former.is_none_or(|former| former.epoch != lineage.epoch);
        let former = peer.sessions.current.replace(Box::new(transport));
        let mut unused = [None, None];
        unused[0] = std::mem::replace(&mut peer.sessions.previous, former);
        if begins_anew {
            // Data of the former epoch must not mix with data of this one.
            unused[1] = peer.sessions.previous.take();
        }
        for transport in unused.into_iter().flatten() {
            self.by_index.remove(&transport.terms.local_index);
        }
        self.announce(Event::Established {
            peer: id,
            epoch: lineage.epoch,
            peer_features,
            begins_anew,
            lasted: now.since(created),
        });
        if to == Addressed::Former {
            self.announce(Event::FormerKeyUsed { peer: id });
        }
    }

    /// Announces that the stamp of an initiation was refused; once a minute at most, since copies of old initiations
    /// may come at any rate.
    fn announce_refusal(&mut self, now: Instant, id: PeerId, behind_nanos: u64) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let last = peer.refusal_announced;
        if last.is_none_or(|last| now.since(last) >= REFUSAL_GAP) {
            peer.refusal_announced = Some(now);
            let behind = Duration::from_nanos(behind_nanos);
            self.announce(Event::StampRefused { peer: id, behind });
        }
    }

    /// Opens an initiation. Returns the handshake, the sender, and the content.
    fn read_initiation(
        &mut self,
        to: Addressed,
        initiation: &[u8; INITIATION_BYTES],
    ) -> Result<(HandshakeState, PublicKey, Greeting), DropCause> {
        let mut state = noise::responder(&noise::Local {
            private_key: &self.identity.addressee(to).private,
            prologue: noise::PROLOGUE,
            ephemeral: Zeroizing::new(draw(&mut *self.entropy)),
        });
        let mut payload = [0; Greeting::BYTES];
        state
            .read_message(initiation_noise(initiation), &mut payload)
            .map_err(|_| DropCause::BadHandshake)?;
        let sender = state
            .get_remote_static()
            .and_then(|bytes| bytes.try_into().ok())
            .map(PublicKey::from_bytes)
            .ok_or(DropCause::BadHandshake)?;
        Ok((state, sender, Greeting::decode(&payload)))
    }

    /// Returns an index that no session and no handshake has.
    pub(crate) fn new_index(&mut self) -> u32 {
        loop {
            let index = u32::from_le_bytes(draw(&mut *self.entropy));
            if !self.by_index.contains_key(&index) {
                return index;
            }
        }
    }
}

/// Returns the answer to exactly this initiation again, if it has one; a new answer would create a second pair of keys
/// for one initiation (the flaw of KRACK).
///
/// # Errors
/// Its keys were confirmed or have expired: nobody waits for an answer.
fn repeated_response(
    responder: &mut ResponderState,
    from: Option<HopAddress>,
    initiation: &[u8; INITIATION_BYTES],
) -> Result<Option<Vec<u8>>, DropCause> {
    match responder.newest.as_deref_mut() {
        Some(newest) if without_mac2(&newest.initiation) == without_mac2(initiation) => {
            newest.asked_from = newest.asked_from.filter(|first| Some(*first) == from);
            let response = newest.response.ok_or(DropCause::StaleHandshake)?;
            Ok(Some(response.to_vec()))
        }
        _ => Ok(None),
    }
}

/// Returns true if a stamp may follow the newest one.
fn is_next(stamp: u64, newest: u64) -> bool {
    stamp > newest && stamp <= newest.max(LATEST_STAMP).saturating_add(STAMP_STEP)
}

impl Flight {
    /// Opens the response to it.
    fn read(&mut self, response: &[u8; RESPONSE_BYTES]) -> Result<Answer, DropCause> {
        let mut payload = [0; Answer::BYTES];
        let read = self
            .state
            .read_message(response_noise(response), &mut payload);
        read.map_err(|_| DropCause::BadHandshake)?;
        Answer::decode(&payload).ok_or(DropCause::BadHandshake)
    }
}

/// The host to which a response goes.
struct Recipient<'a> {
    preshared_key: &'a PresharedKey,
    mac1_key: &'a Mac1Key,
    /// Its receiver index.
    index: u32,
}

impl Peer {
    fn recipient(&self, index: u32) -> Recipient<'_> {
        Recipient {
            preshared_key: &self.preshared_key,
            mac1_key: &self.mac1_key,
            index,
        }
    }
}

/// Writes the response to an initiation; returns it and the finished handshake.
fn respond(
    mut state: HandshakeState,
    to: &Recipient<'_>,
    answer: Answer,
) -> ([u8; RESPONSE_BYTES], HandshakeState) {
    noise::set_preshared_key(&mut state, to.preshared_key);
    let mut response = message::new_response(to.index);
    state
        .write_message(&answer.encode(), response_noise_mut(&mut response))
        .expect("the place is as long as the message");
    to.mac1_key.sign(&mut response);
    (response, state)
}

/// Returns the session of a finished handshake.
fn transport(mut state: HandshakeState, terms: Terms, role: Role) -> Transport {
    let [forward, back] = noise::split(&mut state);
    match role {
        Role::Initiator => Transport::new(terms, &forward, &back),
        Role::Responder => Transport::new(terms, &back, &forward),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stamp_uses_up_the_ones_after_it() {
        assert!(is_next(1, 0) && !is_next(1, 1) && !is_next(0, 1));
        assert!(is_next(LATEST_STAMP + STAMP_STEP, 0) && !is_next(u64::MAX, 0));
        let late = LATEST_STAMP + 7 * STAMP_STEP;
        assert!(is_next(late + 1, late) && is_next(late + STAMP_STEP, late));
        assert!(!is_next(late + STAMP_STEP + 1, late));
    }
}
