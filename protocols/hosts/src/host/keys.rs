//! Keys of this host that are replaced while it runs. A gateway vouches for its next key in each session, and accepts
//! the former one for as long as its operator wants; a mobile host and another gateway go on with the next one at once.

use session::{OwnKeys, PublicKey};
use units::Instant;
use wire::hop::ClaimMessage;

use super::Host;
use super::claims::INTERVAL;
use crate::peer::Peer;
use crate::site::Member;
use crate::{EventKind, Output, Role, SitePart};

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
            peer.keys.vouches.end();
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
            let again = self.peers[index].keys.vouches.sent(now);
            self.agenda.vouches.set(index, again);
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

    /// Goes on with the next key of a gateway, for which it has vouched itself. The configuration, and who tells of it,
    /// may have the former one for long: they can remove it by that all the same.
    pub(crate) fn succeeded(&mut self, now: Instant, index: usize, key: PublicKey) {
        let peer = &self.peers[index];
        let (of, id) = (peer.settings.public, peer.id);
        let is_early = peer.keys.claimed.is_some_and(|last| now < last + INTERVAL);
        if (self.role == Role::Gateway && !self.is_gateway(index)) || of == key || is_early {
            return;
        }
        let others = self.index_with(&key);
        if let Some(other) = others.filter(|other| self.is_same_told(index, *other)) {
            // Another gateway has told of it by that key.
            self.forget(now, other);
        }
        // A key of this host or of another peer of it is refused: no honest gateway has that.
        let is_listed = self.peers.gone_on(&key).is_some_and(|its| its != index);
        let is_free = !is_listed && !self.endpoint.declines(&key);
        let may_have_it = is_free && self.peers.get(index).is_some();
        if !may_have_it || self.endpoint.replace_peer_key(now, id, key).is_err() {
            return;
        }
        let listed = self.listed_key(index);
        let peer = &mut self.peers[index];
        peer.settings.public = key;
        (peer.keys.former, peer.keys.claimed) = (Some(of), Some(now));
        let is_told = peer.site.teller.is_some();
        // The configuration of a mobile host is not read again, and who tells of it may have told that already.
        if is_told || self.role == Role::Gateway {
            let listed = if self.is_told_as(index, &key) {
                key
            } else {
                listed
            };
            self.peers.goes_on(index, listed);
        }
        self.announce(index, EventKind::KeyReplaced { key });
        if !is_told {
            self.outputs.push_back(Output::Claim { of: listed, key });
        }
        if self.role == Role::Gateway {
            self.home_has_key(&of, key);
            self.relist(now, index, *of.bytes());
        }
        self.store_told();
        self.follow_sessions(now, None);
    }

    /// Returns true if another peer is the same gateway by another's word: that tells of it with the same address.
    fn is_same_told(&self, index: usize, other: usize) -> bool {
        let [one, other] = [index, other].map(|index| &self.peers[index]);
        let is_gateway = matches!(other.site.member, Member::Gateway);
        let is_told = other.site.teller.is_some() && is_gateway;
        is_told && other.settings.endpoint == one.settings.endpoint
    }

    /// Returns true if the gateway that tells of a peer has this key of it.
    fn is_told_as(&self, index: usize, key: &PublicKey) -> bool {
        let teller = self.peers[index].site.teller;
        let teller = teller.and_then(|teller| self.peers.get(teller));
        teller.is_some_and(|teller| teller.site.replica.get(key.bytes()).is_some())
    }

    /// Returns the key that the configuration, or who tells of it, has of a peer.
    pub(super) fn listed_key(&self, index: usize) -> PublicKey {
        let peer = &self.peers[index];
        peer.keys.listed.unwrap_or(peer.settings.public)
    }

    /// Returns the peer that is listed under this key, or has it now.
    pub(super) fn index_listed(&self, key: &PublicKey) -> Option<usize> {
        self.peers.gone_on(key).or_else(|| self.index_with(key))
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
