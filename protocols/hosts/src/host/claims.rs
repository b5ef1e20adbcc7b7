//! Claims: a mobile host replaces its key by another one. A gateway only checks who may do that, and how often; its
//! driver stores the new key, and then revokes the old one and admits the new one. The mobile host claims until it is
//! told that another key has taken the place of its own, and goes on with the claimed one then.

use session::{Decline, OwnKeys, PublicKey};
use units::{Duration, Instant};
use wire::hop::{ClaimMessage, ClaimRefusal};

use super::Host;
use crate::event::refusal_in_words;
use crate::repetition::Repetition;
use crate::{EventKind, NextKeyStatus, Output, Role};

/// Time in which no further claim of a peer is passed on, and no other key of a gateway is followed: each costs the
/// driver writes to a disk.
pub(super) const INTERVAL: Duration = Duration::from_secs(10);

/// The next key of a mobile host.
#[derive(Debug)]
pub(crate) struct NextKey {
    keys: OwnKeys,
    /// The claims, while there are keys with the gateway.
    pub(crate) claims: Repetition,
    /// Why the gateway has refused it, if it has.
    refused: Option<ClaimRefusal>,
}

impl NextKey {
    /// Returns its state.
    pub(crate) fn status(&self) -> NextKeyStatus {
        NextKeyStatus {
            public_key: self.keys.key.public_key().to_string(),
            refused: self.refused.map(|reason| refusal_in_words(reason).into()),
        }
    }
}

impl Host {
    /// Begins to claim a key for this host, a mobile one.
    pub(crate) fn begin_claim(&mut self, now: Instant, keys: OwnKeys) {
        if self.role != Role::Mobile || keys.key.public_key() == self.endpoint.public_key() {
            return;
        }
        self.mobile.next_key = Some(NextKey {
            keys,
            claims: Repetition::default(),
            refused: None,
        });
        self.claim_again(now);
    }

    /// Claims the next key from now on, if there is one: the gateway has keys with this host.
    pub(crate) fn claim_again(&mut self, now: Instant) {
        let next = self.mobile.next_key.as_mut();
        if let Some(next) = next.filter(|next| next.refused.is_none()) {
            next.claims.begin(now);
            self.claim(now);
        }
    }

    /// Claims the next key, if that is due.
    pub(crate) fn claim(&mut self, now: Instant) {
        let gateway = self.linked_gateway();
        let Some(next) = &mut self.mobile.next_key else {
            return;
        };
        if !next.claims.sends(now) {
            return;
        }
        let Some((index, to)) = gateway else {
            next.claims.end();
            return;
        };
        let message = ClaimMessage::Claim(*next.keys.key.public_key().bytes()).encode();
        self.send_message(now, index, to, &message);
    }

    /// Goes on with the claimed key, if the gateway declines the present one because another has taken its place.
    pub(crate) fn go_on_with_next(&mut self, now: Instant, index: usize, reason: Decline) -> bool {
        if reason != Decline::Replaced {
            return false;
        }
        let next = &mut self.mobile.next_key;
        let Some(NextKey { keys, .. }) = next.take_if(|next| next.refused.is_none()) else {
            return false;
        };
        let key = keys.key.public_key();
        let id = self.peers[index].id;
        if self.endpoint.begin_as(now, id, keys).is_err() {
            return false;
        }
        self.announce(index, EventKind::OwnKeyReplaced { key });
        true
    }

    /// Ends a claim of this host that the gateway has refused.
    pub(crate) fn own_claim_refused(&mut self, index: usize, reason: ClaimRefusal) {
        let next = self.mobile.next_key.as_mut();
        if let Some(next) = next.filter(|next| next.refused.is_none()) {
            next.claims.end();
            next.refused = Some(reason);
            self.announce(index, EventKind::ClaimRefused { reason });
        }
    }

    /// Passes a claim of a peer on, if it may make one and has made none just now.
    pub(crate) fn claimed(&mut self, now: Instant, index: usize, key: PublicKey) {
        if self.role != Role::Gateway {
            return;
        }
        let peer = &mut self.peers[index];
        if !peer.settings.membership.may_claim {
            self.refuse_claim(now, index, ClaimRefusal::Fixed);
        } else if self.endpoint.is_own_key(&key) || self.endpoint.peer_with(&key).is_some() {
            self.refuse_claim(now, index, ClaimRefusal::Failed);
        } else if peer.keys.claimed.is_none_or(|last| now >= last + INTERVAL) {
            peer.keys.claimed = Some(now);
            let of = peer.settings.public;
            self.outputs.push_back(Output::Claim { of, key });
        }
    }

    /// Notifies the peer with this public key that its claim was refused.
    pub(crate) fn claim_refused(&mut self, now: Instant, of: &PublicKey, reason: ClaimRefusal) {
        if let Some(index) = self.index_with(of) {
            self.refuse_claim(now, index, reason);
        }
    }

    fn refuse_claim(&mut self, now: Instant, index: usize, reason: ClaimRefusal) {
        if let Some(to) = self.peers[index].endpoint {
            let message = ClaimMessage::Refused(reason).encode();
            self.send_message(now, index, to, &message);
        }
    }
}
