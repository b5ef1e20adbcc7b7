//! The three kinds of key, each its own type.

use std::fmt;
use std::str::FromStr;

use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::Dh;
use zeroize::Zeroizing;

use crate::entropy::{Entropy, draw};
use crate::key_text::{self, KEY_BYTES, KeyKind, ParseKeyError};

/// The secret half of a host's X25519 key pair (RFC 7748).
///
/// It has no `Debug` and no `Display`, so it cannot slip into a log; its memory is cleared on drop.
///
/// ```compile_fail
/// format!("{:?}", session::PrivateKey::from_bytes([1; 32]));
/// ```
#[derive(Clone)]
pub struct PrivateKey(Zeroizing<[u8; KEY_BYTES]>);

impl PrivateKey {
    /// Returns a new key.
    pub fn generate(entropy: &mut dyn Entropy) -> Self {
        Self(Zeroizing::new(draw(entropy)))
    }

    /// Returns the key with these bytes; any bytes are a valid X25519 key.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Returns the public half.
    pub fn public_key(&self) -> PublicKey {
        let curve = self.curve();
        let mut bytes = [0; KEY_BYTES];
        bytes.copy_from_slice(curve.pubkey());
        PublicKey(bytes)
    }

    /// Returns the secret that this key shares with another host's (RFC 7748 section 6.1).
    pub(crate) fn agree(&self, other: &PublicKey) -> Zeroizing<[u8; KEY_BYTES]> {
        let mut secret = Zeroizing::new([0; KEY_BYTES]);
        // Only a buffer or key that is too short makes it fail.
        self.curve()
            .dh(other.bytes(), &mut *secret)
            .expect("X25519 takes any two keys of 32 bytes");
        secret
    }

    fn curve(&self) -> Box<dyn Dh> {
        let mut curve = DefaultResolver
            .resolve_dh(&DHChoice::Curve25519)
            .expect("snow is built with X25519");
        curve.set(&*self.0);
        curve
    }

    /// Returns `lasthop-sk1-…`, for the key file and nowhere else.
    pub fn to_text(&self) -> Zeroizing<String> {
        key_text::write(KeyKind::Private, &self.0)
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl FromStr for PrivateKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        key_text::read(KeyKind::Private, text).map(Self)
    }
}

/// A secret that two hosts share in addition to their key pairs: it protects recorded traffic even if X25519 is
/// broken one day.
///
/// It has no `Debug` and no `Display`; its memory is cleared on drop.
///
/// ```compile_fail
/// format!("{:?}", session::PresharedKey::from_bytes([1; 32]));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PresharedKey(Zeroizing<[u8; KEY_BYTES]>);

impl PresharedKey {
    /// Returns the key that Noise mixes in without a preshared key: zeros, as in `WireGuard`.
    pub(crate) fn none() -> Self {
        Self::from_bytes([0; KEY_BYTES])
    }

    /// Returns a new key.
    pub fn generate(entropy: &mut dyn Entropy) -> Self {
        Self(Zeroizing::new(draw(entropy)))
    }

    /// Returns the key with these bytes.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Returns `lasthop-psk1-…`, for the key file and nowhere else.
    pub fn to_text(&self) -> Zeroizing<String> {
        key_text::write(KeyKind::Preshared, &self.0)
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl FromStr for PresharedKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        key_text::read(KeyKind::Preshared, text).map(Self)
    }
}

/// The public half of a host's key pair, which is also the host's identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; KEY_BYTES]);

impl PublicKey {
    /// Returns the key with these bytes.
    pub const fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, as RFC 7748 orders them.
    pub const fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl FromStr for PublicKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        key_text::read(KeyKind::Public, text).map(|bytes| Self(*bytes))
    }
}

/// Writes `lasthop-pk1-…`.
impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&key_text::write(KeyKind::Public, &self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
