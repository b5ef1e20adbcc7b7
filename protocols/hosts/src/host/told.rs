//! What gateways have told this host, which its driver stores: a host that starts while its home, or the home of its
//! guests, is silent knows the site then.

use session::PublicKey;
use units::Instant;

use super::Host;
use crate::site::Told;
use crate::{Output, Role};

impl Host {
    /// Returns what gateways have told this host of others. It may change when [`Output::Told`] comes.
    pub fn told(&self) -> Vec<Told> {
        let by = |index| {
            let teller = *self.listed_key(index).bytes();
            Told::by(teller, &self.peers[index].site.replica)
        };
        self.peers.indices().into_iter().filter_map(by).collect()
    }

    /// Has the driver store what is told.
    pub(super) fn store_told(&mut self) {
        self.outputs.push_back(Output::Told);
    }

    /// Takes what gateways have told a former life of this host. One that is known by another's word comes after that.
    pub(super) fn recall(&mut self, now: Instant, mut told: Vec<Told>) {
        loop {
            let is_known = |told: &Told| self.teller_of(told).is_some();
            let (known, left): (Vec<_>, _) = told.into_iter().partition(is_known);
            if known.is_empty() {
                return;
            }
            for known in known {
                self.recall_of(now, known);
            }
            told = left;
        }
    }

    fn recall_of(&mut self, now: Instant, told: Told) {
        // One that was recalled just now may be known no more.
        if let Some(teller) = self.teller_of(&told) {
            let changes = self.peers[teller].site.replica.recall(told.into_peers());
            self.follow_changes(now, teller, changes);
        }
    }

    /// Returns the gateway that has told this, if this host believes it.
    fn teller_of(&self, told: &Told) -> Option<usize> {
        let index = self.index_with(&PublicKey::from_bytes(told.teller))?;
        let is_believed = match self.role {
            Role::Mobile => self.may_tell(index),
            Role::Gateway => self.is_gateway(index),
        };
        is_believed.then_some(index)
    }
}
