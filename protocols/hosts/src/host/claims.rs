//! Claims: a mobile host replaces its key by another one. This host only checks who may do that, and how often; its
//! driver stores the new key, and then revokes the old one and admits the new one.

use session::PublicKey;
use units::{Duration, Instant};
use wire::hop::{ClaimMessage, ClaimRefusal};

use super::Host;
use crate::{Output, Role};

/// Time in which no further claim of a peer is passed on: each costs the driver writes to a disk.
const INTERVAL: Duration = Duration::from_secs(10);

impl Host {
    /// Passes a claim of a peer on, if it may make one and has made none just now.
    pub(crate) fn claimed(&mut self, now: Instant, index: usize, key: PublicKey) {
        if self.role != Role::Gateway {
            return;
        }
        let peer = &mut self.peers[index];
        if !peer.settings.may_claim {
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
