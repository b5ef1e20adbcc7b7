//! Proofs of what hosts of a site say by way of others.

use session::PublicKey;

use super::Host;
use crate::EventKind;
use crate::site::{Key, Proof};

impl Host {
    /// Returns true if a mobile host has proven what a gateway claims of it, by the key of that. The first claim
    /// without a proof is announced.
    pub(super) fn is_proven(
        &mut self,
        gateway: usize,
        mobile: usize,
        proof: &Proof,
        claim: impl Fn(&PublicKey) -> Vec<u8>,
    ) -> bool {
        let (keys, mobile_id) = (&self.peers[gateway], self.peers[mobile].id);
        let mut keys = std::iter::once(&keys.settings.public).chain(&keys.keys.former);
        let is_right = keys.any(|key| self.endpoint.is_proof(mobile_id, &claim(key), proof));
        if !is_right {
            self.has_forged(gateway, mobile);
        }
        is_right
    }

    /// Announces that a gateway claims a mobile host without having been asked to, the first time.
    fn has_forged(&mut self, gateway: usize, mobile: usize) {
        if !std::mem::replace(&mut self.peers[gateway].site.has_forged, true) {
            let mobile = self.peers[mobile].settings.name.clone();
            self.announce(gateway, EventKind::ClaimedWithoutProof { mobile });
        }
    }

    /// Returns true if a mobile host names the home that its gateway has named, or if an operator has named that.
    pub(super) fn is_home_of(&mut self, mobile: usize, home: &Key) -> bool {
        let teller = self.peers[mobile].site.teller;
        let home = PublicKey::from_bytes(*home);
        match teller.filter(|teller| !self.is_key_of(*teller, &home)) {
            Some(teller) => {
                self.has_forged(teller, mobile);
                false
            }
            None => true,
        }
    }

    /// Returns true if the home of this mobile host has said this, or if it is from there.
    pub(super) fn home_has_proven(&self, from: usize, content: &[u8], proof: &Proof) -> bool {
        self.own_home().is_some_and(|home| {
            from == home || self.endpoint.is_proof(self.peers[home].id, content, proof)
        })
    }

    /// Returns the proof of this host for a peer.
    pub(super) fn prove(&self, to: Option<usize>, content: &[u8]) -> Proof {
        let id = to
            .and_then(|index| self.peers.get(index))
            .map(|peer| peer.id);
        id.and_then(|id| self.endpoint.prove(id, content))
            .unwrap_or_default()
    }
}
