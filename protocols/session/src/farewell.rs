//! The early end of a session: one end sends a goodbye, and the other drops its keys.

use units::Instant;

use crate::endpoint::Endpoint;
use crate::lineage::Lineage;
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
            peer.in_use = None;
            match &mut peer.side {
                Side::Initiator(initiator) => initiator.wanted = false,
                Side::Responder(responder) => responder.offer = None,
            }
        }
        Ok(())
    }

    /// Drops the keys of the current epoch after the peer's goodbye. A new session needs a new handshake.
    pub(crate) fn handle_goodbye(&mut self, id: PeerId) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let ended = peer.in_use.take().map(|ended| ended.epoch);
        let is_ended = |lineage: Lineage| Some(lineage.epoch) == ended;
        // The answer to a later start of the peer may be on its way already.
        let slots = peer.sessions.slots();
        for slot in slots {
            if let Some(old) = slot.take_if(|held| is_ended(held.terms.lineage)) {
                self.by_index.remove(&old.terms.local_index);
            }
        }
        match &mut peer.side {
            Side::Initiator(initiator) => {
                initiator.silent_since = None;
                // Its answer might continue the epoch that has ended.
                if let Some(flight) = initiator.flight.take() {
                    self.by_index.remove(&flight.index);
                }
            }
            Side::Responder(responder) => {
                responder.offer.take_if(|offer| is_ended(offer.offered));
                if peer.sessions.next.is_none() {
                    responder.forget_answer();
                }
            }
        }
        self.announce(Event::Left { peer: id });
        self.reschedule(id);
    }
}
