//! The cryptography of the handshake: `Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s` by snow, with ephemerals that the
//! caller draws.

use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, HandshakeState};
use zeroize::Zeroizing;

use crate::key_text::KEY_BYTES;
use crate::keys::{PresharedKey, PrivateKey, PublicKey};

/// Prologue that both sides mix in first: name and version of the protocol.
pub(crate) const PROLOGUE: &[u8] = b"lasthop v2";
/// Position at which `IKpsk2` mixes in the preshared key: the end of the second message.
const PSK_PLACE: u8 = 2;

/// Inputs of this host to one handshake.
pub(crate) struct Local<'a> {
    pub(crate) private_key: &'a PrivateKey,
    pub(crate) prologue: &'a [u8],
    /// Fresh for every handshake.
    pub(crate) ephemeral: Zeroizing<[u8; KEY_BYTES]>,
}

/// Returns the handshake of the initiator.
pub(crate) fn initiator<'a>(
    local: &Local<'a>,
    remote: &'a PublicKey,
    psk: &'a PresharedKey,
) -> HandshakeState {
    builder(local)
        .and_then(|builder| builder.remote_public_key(remote.bytes()))
        .and_then(|builder| builder.psk(PSK_PLACE, psk.bytes()))
        .and_then(Builder::build_initiator)
        .expect("every part that IKpsk2 needs is given, once")
}

/// Returns the handshake of the responder; only the first message reveals the initiator, and so the preshared key to
/// use (see [`set_preshared_key`]).
pub(crate) fn responder(local: &Local<'_>) -> HandshakeState {
    builder(local)
        .and_then(Builder::build_responder)
        .expect("every part that IKpsk2 needs is given, once")
}

pub(crate) fn set_preshared_key(state: &mut HandshakeState, psk: &PresharedKey) {
    state
        .set_psk(usize::from(PSK_PLACE), psk.bytes())
        .expect("the key has 32 bytes and the place exists");
}

/// Returns the keys of a finished handshake: initiator to responder, then the reverse.
pub(crate) fn split(state: &mut HandshakeState) -> [Zeroizing<[u8; KEY_BYTES]>; 2] {
    let (forward, back) = state.dangerously_get_raw_split();
    [Zeroizing::new(forward), Zeroizing::new(back)]
}

/// Returns the identifier of the session of a finished handshake: the first bytes of the handshake hash (Noise §11.2),
/// which both ends share and no other handshake has. It is not 0.
pub(crate) fn session_id(state: &HandshakeState) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&state.get_handshake_hash()[..8]);
    u64::from_le_bytes(bytes).max(1)
}

fn builder<'a>(local: &Local<'a>) -> Result<Builder<'a>, Error> {
    let suite: NoiseParams = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s".parse()?;
    let resolver = OneEphemeral(local.ephemeral.clone());
    Builder::with_resolver(suite, Box::new(resolver))
        .prologue(local.prologue)?
        .local_private_key(local.private_key.bytes())
}

/// Snow's own primitives, with one ephemeral key as the only random value.
#[derive(Clone)]
struct OneEphemeral(Zeroizing<[u8; KEY_BYTES]>);

impl Random for OneEphemeral {
    fn try_fill_bytes(&mut self, target: &mut [u8]) -> Result<(), Error> {
        if target.len() != KEY_BYTES {
            return Err(Error::Rng);
        }
        target.copy_from_slice(&*self.0);
        Ok(())
    }
}

impl CryptoResolver for OneEphemeral {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(self.clone()))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

#[cfg(test)]
#[path = "noise_tests.rs"]
mod tests;
