//! The identity of a host: its key, and those before it, which initiators may still know; and how keys are replaced.

use std::fmt;

use units::Instant;

use crate::cookie;
use crate::endpoint::{Config, Endpoint};
use crate::keys::{PrivateKey, PublicKey};
use crate::message::Mac1Key;
use crate::output::{PeerError, PeerId};
use crate::token::TokenKey;

/// Keys of a host, which `Debug` does not show.
#[derive(Clone)]
pub struct OwnKeys {
    /// The present one.
    pub key: PrivateKey,
    /// The one before it, as long as initiations to it are accepted.
    pub former: Option<PrivateKey>,
    /// One that has ended: a peer that knows no later one is told so.
    pub ended: Option<PrivateKey>,
}

impl fmt::Debug for OwnKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "OwnKeys {{ public: {}, .. }}",
            self.key.public_key()
        )
    }
}

/// One key of this host, with what is derived from it.
pub(crate) struct OwnKey {
    pub(crate) private: PrivateKey,
    pub(crate) public: PublicKey,
    /// Key of the mac1 of messages to this host.
    pub(crate) mac1: Mac1Key,
    /// Key of the cookie replies of this host.
    pub(crate) cookie: [u8; 32],
}

impl OwnKey {
    fn new(private: PrivateKey) -> Self {
        let public = private.public_key();
        Self {
            mac1: Mac1Key::new(&public),
            cookie: cookie::reply_key(&public),
            private,
            public,
        }
    }
}

/// Which key of this host a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressed {
    Present,
    Former,
    Ended,
}

/// Identity of this host in handshakes.
pub(crate) struct Identity {
    pub(crate) key: OwnKey,
    former: Option<OwnKey>,
    ended: Option<OwnKey>,
    /// Secret of the tokens, once there are any.
    pub(crate) tokens: Option<TokenKey>,
    pub(crate) wall_clock_at_origin: u64,
}

impl Identity {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            key: OwnKey::new(config.private_key),
            former: None,
            ended: None,
            tokens: None,
            wall_clock_at_origin: config.wall_clock_at_origin,
        }
    }

    /// Replaces the keys. Sessions in use stay in use.
    pub(crate) fn replace(&mut self, keys: OwnKeys) {
        self.key = OwnKey::new(keys.key);
        self.former = keys.former.map(OwnKey::new);
        self.ended = keys.ended.map(OwnKey::new);
    }

    fn keys(&self) -> impl Iterator<Item = (Addressed, &OwnKey)> {
        let present = std::iter::once((Addressed::Present, &self.key));
        let former = self.former.iter().map(|own| (Addressed::Former, own));
        let ended = self.ended.iter().map(|own| (Addressed::Ended, own));
        present.chain(former).chain(ended)
    }

    /// Returns true if `key` is a key of this host.
    pub(crate) fn has(&self, key: &PublicKey) -> bool {
        self.keys().any(|(_, own)| own.public == *key)
    }

    /// Returns the key to which an initiation of any version is addressed, by its mac1, if it is one of this host.
    pub(crate) fn addressed(&self, initiation: &[u8]) -> Option<Addressed> {
        let mut keys = self.keys();
        let found = keys.find(|(_, own)| own.mac1.verify(initiation));
        found.map(|(addressed, _)| addressed)
    }

    /// Returns the keys that count: the present one, and the former one as long as there is one.
    pub(crate) fn accepted(&self) -> impl Iterator<Item = &OwnKey> {
        std::iter::once(&self.key).chain(&self.former)
    }

    /// Returns the key to try when a responder has not answered an initiation with this one: it may know the other.
    pub(crate) fn other_than(&self, own: Addressed) -> Addressed {
        match own {
            Addressed::Present if self.former.is_some() => Addressed::Former,
            _ => Addressed::Present,
        }
    }

    /// Returns the key to which a message is addressed.
    pub(crate) fn addressee(&self, to: Addressed) -> &OwnKey {
        let found = self.keys().find(|(its, _)| *its == to);
        found.map_or(&self.key, |(_, own)| own)
    }

    /// Returns the wall clock, in nanoseconds since 1970-01-01 UTC.
    pub(crate) fn unix_nanos(&self, now: Instant) -> u64 {
        self.wall_clock_at_origin
            .saturating_add(now.since_origin().as_nanos())
    }
}

impl Endpoint {
    /// Returns true if this is a public key of this host: the present one, or one before it.
    pub fn is_own_key(&self, key: &PublicKey) -> bool {
        self.identity.has(key)
    }

    /// Replaces the keys of this host; sessions in use stay in use. Initiations to the former key are accepted too, as
    /// long as there is one: a peer that knows it learns of the present one in the session. Who knows only a key that
    /// has ended is declined. Responders may know the former key, too: initiations to them are made with the present
    /// one, and in turns with both until there is an answer.
    pub fn replace_keys(&mut self, now: Instant, keys: OwnKeys) {
        self.identity.replace(keys);
        for peer in self.initiates_to.clone() {
            self.renew_keys(now, peer);
        }
    }

    /// Begins a handshake with a peer, with the present key of this host, if keys with it are wanted and that is this
    /// host's part.
    pub fn renew_keys(&mut self, now: Instant, peer: PeerId) {
        if let Ok(wanted) = self.give_up_flight(peer) {
            self.begin_handshake(now, peer, wanted);
        }
    }

    /// Replaces the public key of a peer, which vouches for it in a session, and begins a handshake with it if that is
    /// this host's part. The sessions and the epoch stay in use.
    pub fn replace_peer_key(
        &mut self,
        now: Instant,
        peer: PeerId,
        key: PublicKey,
    ) -> Result<(), PeerError> {
        if self.identity.has(&key) {
            return Err(PeerError::OwnKey);
        }
        if self.keys.peers.contains_key(&key) {
            return Err(PeerError::Duplicate);
        }
        // Nothing is in flight to an initiator.
        let wanted = self.give_up_flight(peer).unwrap_or(false);
        let held = self.peers.get_mut(&peer).ok_or(PeerError::Unknown)?;
        self.keys.peers.remove(&held.public_key);
        (held.public_key, held.mac1_key) = (key, Mac1Key::new(&key));
        self.keys.peers.insert(key, peer);
        self.begin_handshake(now, peer, wanted);
        Ok(())
    }

    /// Replaces the key of this host by another one, which a responder has taken in its place, and begins a handshake
    /// with it.
    pub fn begin_as(&mut self, now: Instant, peer: PeerId, keys: OwnKeys) -> Result<(), PeerError> {
        if self.keys.peers.contains_key(&keys.key.public_key()) {
            return Err(PeerError::OwnKey);
        }
        let wanted = self.give_up_flight(peer)?;
        self.identity.replace(keys);
        self.begin_handshake(now, peer, wanted);
        Ok(())
    }

    /// Forgets the handshake in flight with a responder, as one of its keys is another from now on; returns true if
    /// keys with it are wanted.
    fn give_up_flight(&mut self, peer: PeerId) -> Result<bool, PeerError> {
        let initiator = self.initiator(peer)?;
        (initiator.cookie, initiator.key_is_new) = (None, true);
        let (flight, wanted) = (initiator.flight.take(), initiator.wanted);
        if let Some(flight) = flight {
            self.by_index.remove(&flight.index);
        }
        Ok(wanted)
    }

    fn begin_handshake(&mut self, now: Instant, peer: PeerId, wanted: bool) {
        if wanted {
            self.send_initiation(now, peer);
            self.reschedule(peer);
        }
    }
}
