//! Cookies: under load an initiator first shows that it receives at its address (Donenfeld, NDSS 2017, §5.4.7).

use blake2::digest::{Mac, consts::U16};
use blake2::{Blake2s256, Blake2sMac, Digest};
use chacha20poly1305::{AeadInPlace, Key, KeyInit, Tag, XChaCha20Poly1305, XNonce};
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::admission::Admission;
use crate::endpoint::Endpoint;
use crate::entropy::draw;
use crate::keys::PublicKey;
use crate::message::{
    self, COOKIE_REPLY_BYTES, HANDSHAKE_HEADER, INITIATION_BYTES, MAC_BYTES, TAG_BYTES, mac1_of,
    mac2_of, without_mac2,
};
use crate::output::{DropCause, PeerId, Route};
use crate::peer::{Flight, Peer, Side};

/// Time for which a cookie is valid. A receiver accepts the cookies of the present period of this length, and those of
/// the one before.
const COOKIE_LIFE: Duration = Duration::from_secs(120);
const NONCE_BYTES: usize = 24;

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
    /// Returns whether an initiation may cost a Diffie-Hellman computation.
    pub(crate) fn admit(
        &mut self,
        now: Instant,
        from: Option<HopAddress>,
        initiation: &[u8; INITIATION_BYTES],
    ) -> Admission {
        if !self.identity.mac1_key.verify(initiation) {
            return Admission::Refused(DropCause::BadMac);
        }
        let Some(from) = from else {
            return self.budget.take(now).into();
        };
        if self.budget.take_unproven(now) {
            return Admission::Granted;
        }
        if !self.has_cookie(now, from, initiation) {
            return Admission::Unproven(from);
        }
        self.budget.take_proven(now, from).into()
    }

    /// Returns true if the mac2 of an initiation was made with the cookie of its source.
    fn has_cookie(
        &self,
        now: Instant,
        from: HopAddress,
        initiation: &[u8; INITIATION_BYTES],
    ) -> bool {
        let present = period(now);
        let given = mac2_of(initiation);
        // Most forgeries do not even try.
        *given != [0; MAC_BYTES]
            && [Some(present), present.checked_sub(1)]
                .into_iter()
                .flatten()
                .any(|period| {
                    let cookie = self.identity.tokens.token(*b"cookie--", period, from);
                    let mac = mac2(&cookie, without_mac2(initiation));
                    mac.verify_slice(given).is_ok()
                })
    }

    /// Writes the cookie reply to an initiation over it; returns the bytes to send to its source.
    pub(crate) fn reply_with_cookie<'a>(
        &mut self,
        now: Instant,
        from: HopAddress,
        initiation: &'a mut [u8],
    ) -> &'a mut [u8] {
        let mut cookie = self.identity.tokens.token(*b"cookie--", period(now), from);
        let mac1 = *mac1_of(initiation);
        let nonce: [u8; NONCE_BYTES] = draw(&mut *self.entropy);
        let cipher = cipher(&self.identity.public_key);
        let tag = cipher
            .encrypt_in_place_detached(XNonce::from_slice(&nonce), &mac1, &mut cookie)
            .expect("a cookie is far below the cipher's limit");
        let reply = &mut initiation[..COOKIE_REPLY_BYTES];
        message::begin_cookie_reply(reply);
        let fields = [&mac1[..], &nonce, &cookie, &tag];
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
        let (nonce, rest) = rest.split_at(NONCE_BYTES);
        let (sealed, tag) = rest.split_at(rest.len() - TAG_BYTES);
        let mut cookie = [0; MAC_BYTES];
        cookie.copy_from_slice(sealed);
        let id = self
            .initiator_with(mac1)
            .ok_or(DropCause::UnexpectedHandshake)?;
        let peer = self
            .peers
            .get_mut(&id)
            .ok_or(DropCause::UnexpectedHandshake)?;
        cipher(&peer.public_key)
            .decrypt_in_place_detached(
                XNonce::from_slice(nonce),
                mac1,
                &mut cookie,
                Tag::from_slice(tag),
            )
            .map_err(|_| DropCause::BadHandshake)?;
        let Side::Initiator(initiator) = &mut peer.side else {
            return Err(DropCause::UnexpectedHandshake);
        };
        initiator.cookie = Some(Cookie {
            bytes: cookie,
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
    fn initiator_with(&self, mac1: &[u8]) -> Option<PeerId> {
        let is_named = |id: &&PeerId| match self.peers.get(id).map(|peer: &Peer| &peer.side) {
            Some(Side::Initiator(initiator)) => {
                let flight = initiator.flight.as_deref();
                flight.is_some_and(|flight| mac1_of(&flight.initiation) == mac1)
            }
            _ => false,
        };
        self.initiates_to.iter().find(is_named).copied()
    }
}

/// Returns the cipher of cookie replies from the host with this public key.
fn cipher(host: &PublicKey) -> XChaCha20Poly1305 {
    let key = Blake2s256::new()
        .chain_update(b"cookie--")
        .chain_update(host.bytes())
        .finalize();
    XChaCha20Poly1305::new(Key::from_slice(&key))
}

fn mac2(cookie: &[u8; MAC_BYTES], covered: &[u8]) -> Blake2sMac<U16> {
    <Blake2sMac<U16> as Mac>::new_from_slice(cookie)
        .expect("BLAKE2s takes keys of 16 bytes")
        .chain_update(covered)
}

fn period(now: Instant) -> u64 {
    now.as_nanos() / COOKIE_LIFE.as_nanos()
}
