//! The early end of a session: one end sends a goodbye, and the other drops its keys.

use units::Instant;

use crate::endpoint::Endpoint;
use crate::message::{DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, GOODBYE};
use crate::output::{Event, PeerError, PeerId, Route};
use crate::peer::Side;

/// Number of copies, since a goodbye is not confirmed and some may be lost. If all are lost, the keys expire.
const COPIES: usize = 3;

impl Endpoint {
    /// Sends a goodbye to a peer, drops the sessions with it, and begins no handshake until [`Self::connect`].
    pub fn leave(&mut self, now: Instant, peer: PeerId) -> Result<(), PeerError> {
        for _ in 0..COPIES {
            let mut datagram = vec![0; DATA_OVERHEAD_BYTES + GOODBYE.len()];
            datagram[DATA_HEADER_BYTES..][..GOODBYE.len()].copy_from_slice(&GOODBYE);
            if self.seal(now, peer, &mut datagram).is_ok() {
                self.transmit(peer, Route::Peer, datagram);
            }
        }
        self.forget_sessions(peer)?;
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.known_epoch = None;
            if let Side::Initiator(initiator) = &mut peer.side {
                initiator.wanted = false;
            }
        }
        Ok(())
    }

    /// Drops the keys of the peer's current epoch after its goodbye. A new session needs a new handshake.
    pub(crate) fn handle_goodbye(&mut self, id: PeerId) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let ended = peer.known_epoch.take();
        // The answer to a later start of the peer may be on its way already.
        let slots = peer.sessions.slots();
        for slot in slots {
            if let Some(old) = slot.take_if(|held| Some(held.terms.peer_epoch) == ended) {
                self.by_index.remove(&old.terms.local_index);
            }
        }
        match &mut peer.side {
            Side::Initiator(initiator) => initiator.silence = None,
            Side::Responder(responder) => {
                if peer.sessions.next.is_none() {
                    responder.answered = None;
                }
            }
        }
        self.announce(Event::Left { peer: id });
        self.reschedule(id);
    }
}
