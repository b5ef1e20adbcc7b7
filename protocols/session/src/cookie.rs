//! Cookies: under load an initiator first shows that it receives at its address (Donenfeld, NDSS 2017, §5.4.7).

use blake2::digest::{
    Mac,
    consts::{U16, U32},
};
use blake2::{Blake2s256, Blake2sMac, Digest};
use planted::Bug;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::admission::Admission;
use crate::endpoint::Endpoint;
use crate::identity::Addressed;
use crate::keys::PublicKey;
use crate::message::{
    self, COOKIE_REPLY_BYTES, HANDSHAKE_HEADER, INITIATION_BYTES, MAC_BYTES, TAG_BYTES, mac1_of,
    mac2_of, without_mac2,
};
use crate::output::{DropCause, PeerId, Route};
use crate::peer::{Flight, Side};

/// Time for which a cookie is valid at most: a receiver accepts those of the present period of this length.
const COOKIE_LIFE: Duration = Duration::from_secs(120);

/// A cookie, and the time when it came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cookie {
    bytes: [u8; MAC_BYTES],
    received: Instant,
}

impl Flight {
    /// Returns the initiation with the mac2 that the cookie of its receiver makes, if there is one.
    pub(crate) fn signed(&self, now: Instant, cookie: Option<Cookie>) -> Vec<u8> {
        let mut initiation = self.initiation.to_vec();
        if let Some(cookie) = cookie.filter(|cookie| now.since(cookie.received) < COOKIE_LIFE) {
            let covered = without_mac2(&self.initiation);
            let mac2 = mac2(&cookie.bytes, covered);
            initiation[covered.len()..].copy_from_slice(&mac2.finalize().into_bytes());
        }
        initiation
    }
}

impl Endpoint {
    /// Decides about the computations that an initiation would cost.
    pub(crate) fn admit(
        &mut self,
        now: Instant,
        from: Option<HopAddress>,
        initiation: &[u8; INITIATION_BYTES],
    ) -> Admission {
        let unread = planted::is(Bug::Mac1IsNotRead).then_some(Addressed::Present);
        let Some(to) = self.identity.addressed(initiation).or(unread) else {
            return Admission::Refused(DropCause::BadMac);
        };
        let Some(from) = from else {
            return Admission::of(self.budget.take(now), to);
        };
        if self.budget.take_unproven(now) || planted::is(Bug::FloodIsComputed) {
            return Admission::Granted(to);
        }
        let period = now.as_nanos() / COOKIE_LIFE.as_nanos();
        let secret = self.token(*b"cookie--", period, from);
        let (cookie, _) = halves(&secret);
        let given = mac2_of(initiation);
        // Most forgeries do not even try.
        let is_proven = *given != [0; MAC_BYTES]
            && mac2(cookie, without_mac2(initiation))
                .verify_slice(given)
                .is_ok();
        if is_proven {
            Admission::of(self.budget.take_proven(now, from), to)
        } else {
            Admission::Unproven(to, secret)
        }
    }

    /// Writes the cookie reply to an initiation over it; returns the bytes to send to its source. Half of `secret` is
    /// the cookie, and the other half the salt: equal salts seal equal cookies.
    pub(crate) fn reply_with_cookie<'a>(
        &self,
        to: Addressed,
        secret: &[u8; 32],
        initiation: &'a mut [u8],
    ) -> &'a mut [u8] {
        let mac1 = *mac1_of(initiation);
        let (cookie, salt) = halves(secret);
        let mut sealed = *cookie;
        let tag = cipher(&self.identity.addressee(to).cookie, salt, &mac1)
            .seal_in_place_separate_tag(only_nonce(), Aad::from(&mac1), &mut sealed)
            .expect("a cookie is far below the cipher's limit");
        let reply = &mut initiation[..COOKIE_REPLY_BYTES];
        message::begin_cookie_reply(reply);
        let fields = [&mac1[..], salt, &sealed, tag.as_ref()];
        let mut at = HANDSHAKE_HEADER;
        for field in fields {
            reply[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        reply
    }

    /// Handles a cookie reply: the initiation in flight that it names is sent again at once, with the cookie, unless
    /// that has been done since its last retry. Anybody who saw the initiation can forge it.
    pub(crate) fn handle_cookie_reply(
        &mut self,
        now: Instant,
        reply: &[u8; COOKIE_REPLY_BYTES],
    ) -> Result<(), DropCause> {
        let (mac1, rest) = reply[HANDSHAKE_HEADER..].split_at(MAC_BYTES);
        let (salt, sealed) = rest.split_at(MAC_BYTES);
        let id = self.initiator_with(mac1);
        let id = id.ok_or(DropCause::UnexpectedHandshake)?;
        let peer = self.peers.get_mut(&id);
        let peer = peer.ok_or(DropCause::UnexpectedHandshake)?;
        let mut opened = [0; MAC_BYTES + TAG_BYTES];
        opened.copy_from_slice(sealed);
        let opened = cipher(&reply_key(&peer.public_key), salt, mac1)
            .open_in_place(only_nonce(), Aad::from(mac1), &mut opened)
            .map_err(|_| DropCause::BadHandshake)?;
        let mut bytes = [0; MAC_BYTES];
        bytes.copy_from_slice(opened);
        let Side::Initiator(initiator) = &mut peer.side else {
            return Err(DropCause::UnexpectedHandshake);
        };
        initiator.cookie = Some(Cookie {
            bytes,
            received: now,
        });
        let cookie = initiator.cookie;
        let again = initiator
            .flight
            .as_mut()
            .filter(|flight| !flight.has_hurried);
        if let Some(flight) = again {
            flight.has_hurried = true;
            let initiation = flight.signed(now, cookie);
            self.transmit(id, Route::Anywhere, initiation);
        }
        Ok(())
    }

    /// Returns the peer to which the initiation with this mac1 is in flight.
    pub(crate) fn initiator_with(&self, mac1: &[u8]) -> Option<PeerId> {
        let is_named = |id: &&PeerId| match self.peers.get(id).map(|peer| &peer.side) {
            Some(Side::Initiator(initiator)) => {
                let flight = initiator.flight.as_deref();
                flight.is_some_and(|flight| mac1_of(&flight.initiation) == mac1)
            }
            _ => false,
        };
        self.initiates_to.iter().find(is_named).copied()
    }
}

/// Returns the key of cookie replies from the host with this public key.
pub(crate) fn reply_key(host: &PublicKey) -> [u8; 32] {
    let digest = Blake2s256::new()
        .chain_update(b"cookie--")
        .chain_update(host.bytes())
        .finalize();
    digest.into()
}

/// Returns the cipher of one reply: its key is made with the salt and the mac1 of the initiation, and serves once.
fn cipher(key: &[u8; 32], salt: &[u8], mac1: &[u8]) -> LessSafeKey {
    let once = Blake2sMac::<U32>::new_from_slice(key)
        .expect("BLAKE2s takes keys of 32 bytes")
        .chain_update(salt)
        .chain_update(mac1)
        .finalize();
    let unbound = UnboundKey::new(&CHACHA20_POLY1305, &once.into_bytes());
    LessSafeKey::new(unbound.expect("the key has 32 bytes"))
}

fn only_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

/// Returns the cookie in a secret, and the rest of it.
fn halves(secret: &[u8; 32]) -> (&[u8; MAC_BYTES], &[u8; MAC_BYTES]) {
    let (cookie, rest) = secret.split_first_chunk().expect("it has 32 bytes");
    (cookie, rest.first_chunk().expect("it has 32 bytes"))
}

fn mac2(cookie: &[u8; MAC_BYTES], covered: &[u8]) -> Blake2sMac<U16> {
    Blake2sMac::new_from_slice(cookie)
        .expect("BLAKE2s takes keys of 16 bytes")
        .chain_update(covered)
}
