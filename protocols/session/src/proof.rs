//! Proofs for messages that reach a peer by other hosts: each is a MAC under a secret that only the two ends share.

use blake2::digest::{Mac, consts::U16};
use blake2::{Blake2s256, Blake2sMac, Digest};

use crate::endpoint::Endpoint;
use crate::identity::OwnKey;
use crate::keys::PublicKey;
use crate::output::PeerId;

/// Length of a proof in bytes.
pub const PROOF_BYTES: usize = 16;

impl Endpoint {
    /// Returns the proof that this host has said `content`, for a peer; `None` if the peer is not known.
    pub fn prove(&self, to: PeerId, content: &[u8]) -> Option<[u8; PROOF_BYTES]> {
        let mac = self.mac_between(to, &self.identity.key, true)?;
        let mac = mac.chain_update(content);
        Some(mac.finalize().into_bytes().into())
    }

    /// Returns true if a peer has said `content` to this host, as `proof` shows. The peer may know the former key of
    /// this host.
    pub fn is_proof(&self, from: PeerId, content: &[u8], proof: &[u8; PROOF_BYTES]) -> bool {
        let shows = |own: &OwnKey| {
            let mac = self.mac_between(from, own, false);
            mac.is_some_and(|mac| mac.chain_update(content).verify(proof.into()).is_ok())
        };
        self.identity.accepted().any(shows)
    }

    /// Returns the MAC for content from this host to a peer, or from the peer to this host. Its key is made from the
    /// secret of both static keys, from the preshared key, and from the public keys in the order of the way.
    fn mac_between(
        &self,
        peer: PeerId,
        own: &OwnKey,
        is_from_here: bool,
    ) -> Option<Blake2sMac<U16>> {
        let peer = self.peers.get(&peer)?;
        let ends: [&PublicKey; 2] = if is_from_here {
            [&own.public, &peer.public_key]
        } else {
            [&peer.public_key, &own.public]
        };
        let key = Blake2s256::new()
            .chain_update(b"proof---")
            .chain_update(*own.private.agree(&peer.public_key))
            .chain_update(peer.preshared_key.bytes())
            .chain_update(ends[0].bytes())
            .chain_update(ends[1].bytes())
            .finalize();
        Some(Blake2sMac::new_from_slice(&key).expect("BLAKE2s takes keys of 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;
    use crate::keys::{PresharedKey, PrivateKey};
    use crate::{Config, Limits, PeerConfig, Role};

    fn key(of: u8) -> PrivateKey {
        PrivateKey::from_bytes([of; 32])
    }

    /// Returns a host that knows another one, and the other's number there.
    fn host(own: u8, other: u8, preshared: Option<u8>) -> (Endpoint, PeerId) {
        let config = Config {
            private_key: key(own),
            wall_clock_at_origin: Duration::from_secs(1).as_nanos(),
            limits: Limits::default(),
        };
        let mut endpoint = Endpoint::new(config, Box::new(move |bytes: &mut [u8]| bytes.fill(own)));
        let peer = endpoint.add_peer(PeerConfig {
            public_key: key(other).public_key(),
            preshared_key: preshared.map(|bytes| PresharedKey::from_bytes([bytes; 32])),
            role: Role::Responder,
            features: 0,
        });
        (endpoint, peer.expect("a peer"))
    }

    #[test]
    fn only_the_two_ends_can_prove_and_each_only_for_itself() {
        let ((one, other), (two, first)) = (host(1, 2, None), host(2, 1, None));
        let proof = one.prove(other, b"content").expect("a proof");
        assert!(two.is_proof(first, b"content", &proof));
        assert!(!two.is_proof(first, b"contents", &proof));
        // Nobody can send it back as the other's.
        assert!(!one.is_proof(other, b"content", &proof));
        let (three, whose) = host(3, 2, None);
        let forged = three.prove(whose, b"content").expect("a proof");
        assert!(!two.is_proof(first, b"content", &forged));
        let (with_secret, first) = host(2, 1, Some(7));
        assert!(!with_secret.is_proof(first, b"content", &proof));
    }
}
