//! Keys of this host that are replaced while it runs. A gateway vouches for its next key in each session, and accepts
//! the former one for as long as its operator wants; a mobile host goes on with the next one at once.

use session::{OwnKeys, PublicKey};
use units::Instant;
use wire::hop::ClaimMessage;

use super::Host;
use crate::{EventKind, Output, Role};

impl Host {
    /// Replaces the keys of this host; each peer that has a session learns of it.
    pub(crate) fn replace_keys(&mut self, now: Instant, keys: OwnKeys) {
        let known = self.endpoint.public_key();
        self.endpoint.replace_keys(keys);
        if self.endpoint.public_key() == known {
            return;
        }
        for index in self.peers.indices() {
            let peer = &mut self.peers[index];
            peer.keys.knows_former = peer.presence.is_linked();
            self.vouch(now, index);
        }
    }

    /// Sends the present key of this host to a peer that knows the former one. If the message is lost, the next
    /// handshake of the peer brings another one.
    pub(crate) fn vouch(&mut self, now: Instant, index: usize) {
        if let Some(to) = self.peers[index].endpoint {
            let key = *self.endpoint.public_key().bytes();
            let message = ClaimMessage::Successor(key).encode();
            self.send_message(now, index, to, &message);
        }
    }

    /// Goes on with the next key of the gateway, for which it has vouched itself.
    pub(crate) fn succeeded(&mut self, now: Instant, index: usize, key: PublicKey) {
        let of = self.peers[index].settings.public;
        if self.role != Role::Mobile || of == key {
            return;
        }
        let id = self.peers[index].id;
        // A key of this host or of another gateway of it is refused: no honest gateway has that.
        if self.endpoint.replace_peer_key(now, id, key).is_err() {
            return;
        }
        self.peers[index].settings.public = key;
        self.announce(index, EventKind::KeyReplaced { key });
        self.store_told();
        self.outputs.push_back(Output::Claim { of, key });
        self.follow_sessions(now, None);
    }
}
