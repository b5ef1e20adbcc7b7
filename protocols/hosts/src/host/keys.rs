//! Keys of this host that are replaced while it runs. A gateway vouches for its next key in each session, and accepts
//! the former one for as long as its operator wants; a mobile host and another gateway go on with the next one at once.

use session::{OwnKeys, PublicKey};
use units::{Duration, Instant};
use wire::hop::ClaimMessage;

use super::Host;
use crate::peer::Peer;
use crate::site::Member;
use crate::{EventKind, Output, Role, SitePart};

/// Time until the present key is sent again.
const PAUSE: Duration = Duration::from_secs(2);

impl Host {
    /// Replaces the keys of this host; each peer that has a session learns of it.
    pub(crate) fn replace_keys(&mut self, now: Instant, keys: OwnKeys) {
        let known = self.endpoint.public_key();
        self.endpoint.replace_keys(now, keys);
        if self.endpoint.public_key() == known {
            return;
        }
        for index in self.peers.indices() {
            let peer = &mut self.peers[index];
            peer.keys.knows_former = peer.presence.is_linked();
            self.vouch(now, index);
        }
    }

    /// Sends the present key of this host to a peer that knows the former one, and again until a handshake shows that
    /// it knows the present one.
    pub(crate) fn vouch(&mut self, now: Instant, index: usize) {
        if let Some(to) = self.peers[index].endpoint {
            let key = *self.endpoint.public_key().bytes();
            let message = ClaimMessage::Successor(key).encode();
            self.send_message(now, index, to, &message);
            self.agenda.vouches.set(index, now + PAUSE);
        }
    }

    /// Sends the present key to those that may not have got it, and begins a handshake with it if that is this host's
    /// part.
    pub(crate) fn vouch_due(&mut self, now: Instant) {
        while let Some(index) = self.agenda.vouches.pop_due(now) {
            let waits = |peer: &&Peer| peer.keys.knows_former && peer.presence.is_linked();
            if let Some(id) = self.peers.get(index).filter(waits).map(|peer| peer.id) {
                self.vouch(now, index);
                self.endpoint.renew_keys(now, id);
                self.follow_sessions(now, None);
            }
        }
    }

    /// Goes on with the next key of a gateway, for which it has vouched itself.
    pub(crate) fn succeeded(&mut self, now: Instant, index: usize, key: PublicKey) {
        let of = self.peers[index].settings.public;
        if (self.role == Role::Gateway && !self.is_gateway(index)) || of == key {
            return;
        }
        let id = self.peers[index].id;
        // A key of this host or of another gateway of it is refused: no honest gateway has that.
        if self.endpoint.replace_peer_key(now, id, key).is_err() {
            return;
        }
        let peer = &mut self.peers[index];
        peer.settings.public = key;
        peer.keys.former = Some(of);
        let is_told = peer.site.teller.is_some();
        self.announce(index, EventKind::KeyReplaced { key });
        if !is_told {
            self.outputs.push_back(Output::Claim { of, key });
        }
        if self.role == Role::Gateway {
            self.home_has_key(&of, key);
            self.relist(now, index, *of.bytes());
        }
        self.store_told();
        self.follow_sessions(now, None);
    }

    /// Has the mobile hosts of a home follow it to its next key.
    fn home_has_key(&mut self, of: &PublicKey, key: PublicKey) {
        for (_, peer) in self.peers.iter_mut() {
            if let Member::Guest(guest) = &mut peer.site.member
                && guest.home == *of
            {
                guest.home = key;
                peer.settings.membership.site = SitePart::Guest(key);
            }
        }
    }

    /// Returns true if a peer has this key, or had it before the present one: a third host may not know that yet.
    pub(super) fn is_key_of(&self, index: usize, key: &PublicKey) -> bool {
        let peer = &self.peers[index];
        peer.settings.public == *key || peer.keys.former.as_ref() == Some(key)
    }
}
