//! The handshake: initiations, responses, confirmation.

use snow::HandshakeState;
use units::Instant;
use wire::address::HopAddress;
use zeroize::Zeroizing;

use crate::endpoint::Endpoint;
use crate::entropy::draw;
use crate::keys::PublicKey;
use crate::message::{
    self, HandshakePayload, INITIATION_BYTES, InitiationPayload, RESPONSE_BYTES, initiation_noise,
    response_noise, response_noise_mut, without_mac2,
};
use crate::noise;
use crate::output::{DropCause, Event, PeerId, Route};
use crate::peer::{Peer, ResponderState, Side};
use crate::transport::{Terms, Transport};

impl Endpoint {
    /// Handles an initiation that was admitted.
    pub(crate) fn handle_initiation(
        &mut self,
        now: Instant,
        from: Option<HopAddress>,
        initiation: &[u8; INITIATION_BYTES],
    ) -> Result<PeerId, DropCause> {
        let (state, sender, greeting) = self.read_initiation(initiation)?;
        let id = *self.by_key.get(&sender).ok_or(DropCause::UnknownPeer)?;
        let local_index = self.new_index();
        let peer = self.peers.get_mut(&id).ok_or(DropCause::UnknownPeer)?;
        let Side::Responder(responder) = &mut peer.side else {
            return Err(DropCause::UnexpectedHandshake);
        };
        if responder
            .newest_stamp
            .is_some_and(|newest| greeting.stamp <= newest)
        {
            let response = cached_response(responder, initiation)?;
            responder.asked_from = responder.asked_from.filter(|first| Some(*first) == from);
            self.transmit(id, Route::Reply, response);
            return Ok(id);
        }
        responder.newest_stamp = Some(greeting.stamp);
        let terms = Terms {
            local_index,
            remote_index: greeting.answer.index,
            peer_epoch: greeting.answer.epoch,
            peer_features: greeting.answer.features,
            created: now,
        };
        let answer = HandshakePayload {
            index: local_index,
            epoch: self.identity.epoch,
            features: peer.features,
        };
        let (response, transport) = respond(state, peer, terms, answer);
        if let Side::Responder(responder) = &mut peer.side {
            responder.answered = Some(Box::new((*initiation, response)));
            responder.asked_from = from;
        }
        let replaced = peer.sessions.next.replace(Box::new(transport));
        if let Some(replaced) = replaced {
            self.by_index.remove(&replaced.terms.local_index);
        }
        self.by_index.insert(local_index, id);
        self.transmit(id, Route::Reply, response.to_vec());
        Ok(id)
    }

    /// Handles the response to this host's initiation.
    pub(crate) fn handle_response(
        &mut self,
        now: Instant,
        response: &[u8; RESPONSE_BYTES],
    ) -> Result<PeerId, DropCause> {
        if !self.identity.mac1_key.verify(response) {
            return Err(DropCause::BadMac);
        }
        let index = message::receiver_of(response);
        let id = *self
            .by_index
            .get(&index)
            .ok_or(DropCause::UnexpectedHandshake)?;
        let peer = self
            .peers
            .get_mut(&id)
            .ok_or(DropCause::UnexpectedHandshake)?;
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
        let mut payload = [0; HandshakePayload::BYTES];
        flight
            .state
            .read_message(response_noise(response), &mut payload)
            .map_err(|_| DropCause::BadHandshake)?;
        let answer = HandshakePayload::decode(&payload);
        let terms = Terms {
            local_index: index,
            remote_index: answer.index,
            peer_epoch: answer.epoch,
            peer_features: answer.features,
            created: flight.created,
        };
        let [send, receive] = noise::split(&mut flight.state);
        initiator.flight = None;
        initiator.silence = None;
        self.install(id, Transport::new(terms, &send, &receive));
        // The responder sends nothing under the new keys until it has received a datagram under them.
        self.send_empty(now, id);
        Ok(id)
    }

    /// Puts the next keys in use after the first authentic datagram under them, which proves that the initiator has
    /// them.
    pub(crate) fn confirm(&mut self, id: PeerId) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        if let Side::Responder(responder) = &mut peer.side {
            responder.answered = None;
        }
        if let Some(next) = peer.sessions.next.take() {
            self.install(id, *next);
        }
    }

    /// Puts a session in use; the one before it may still receive.
    fn install(&mut self, id: PeerId, transport: Transport) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let Terms {
            peer_epoch,
            peer_features,
            ..
        } = transport.terms;
        let new_peer_incarnation = peer.known_epoch.replace(peer_epoch) != Some(peer_epoch);
        let former = peer.sessions.current.replace(Box::new(transport));
        let mut unused = [None, None];
        unused[0] = std::mem::replace(&mut peer.sessions.previous, former);
        if new_peer_incarnation {
            // Data of the peer's former epoch must not mix with data of this one.
            unused[1] = peer.sessions.previous.take();
        }
        for transport in unused.into_iter().flatten() {
            self.by_index.remove(&transport.terms.local_index);
        }
        self.announce(Event::Established {
            peer: id,
            peer_epoch,
            peer_features,
            new_peer_incarnation,
        });
    }

    /// Opens an initiation. Returns the handshake, the sender, and the content.
    fn read_initiation(
        &mut self,
        initiation: &[u8; INITIATION_BYTES],
    ) -> Result<(HandshakeState, PublicKey, InitiationPayload), DropCause> {
        let mut state = noise::responder(&noise::Local {
            private_key: &self.identity.private_key,
            prologue: noise::PROLOGUE,
            ephemeral: Zeroizing::new(draw(&mut *self.entropy)),
        });
        let mut payload = [0; InitiationPayload::BYTES];
        state
            .read_message(initiation_noise(initiation), &mut payload)
            .map_err(|_| DropCause::BadHandshake)?;
        let sender = state
            .get_remote_static()
            .and_then(|bytes| bytes.try_into().ok())
            .map(PublicKey::from_bytes)
            .ok_or(DropCause::BadHandshake)?;
        Ok((state, sender, InitiationPayload::decode(&payload)))
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

/// Returns the answer to exactly this initiation, if there was one; a new answer would create a second pair of keys
/// for one initiation (the flaw of KRACK).
fn cached_response(
    responder: &ResponderState,
    initiation: &[u8; INITIATION_BYTES],
) -> Result<Vec<u8>, DropCause> {
    match responder.answered.as_deref() {
        Some((asked, answer)) if without_mac2(asked) == without_mac2(initiation) => {
            Ok(answer.to_vec())
        }
        _ => Err(DropCause::StaleHandshake),
    }
}

/// Writes the response to an initiation and derives the session from both.
fn respond(
    mut state: HandshakeState,
    peer: &Peer,
    terms: Terms,
    answer: HandshakePayload,
) -> ([u8; RESPONSE_BYTES], Transport) {
    noise::set_preshared_key(&mut state, &peer.preshared_key);
    let mut response = message::new_response(terms.remote_index);
    state
        .write_message(&answer.encode(), response_noise_mut(&mut response))
        .expect("the place is as long as the message");
    peer.mac1_key.sign(&mut response);
    let [receive, send] = noise::split(&mut state);
    (response, Transport::new(terms, &send, &receive))
}
