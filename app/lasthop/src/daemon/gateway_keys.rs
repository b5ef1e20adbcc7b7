//! The public keys of a running gateway, which no mobile host has.

use hosts::OwnKeys;
use session::{PrivateKey, PublicKey};

use crate::config::Source;
use crate::config::gateway::GatewayConfig;
use crate::failure::Failure;

/// Public keys of a gateway: the present one, the former one while that is accepted, and one that has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PublicKeys {
    present: PublicKey,
    former: Option<PublicKey>,
    ended: Option<PublicKey>,
}

impl PublicKeys {
    /// Returns those of private keys.
    pub(super) fn of(keys: &OwnKeys) -> Self {
        Self {
            present: keys.key.public_key(),
            former: keys.former.as_ref().map(PrivateKey::public_key),
            ended: keys.ended.as_ref().map(PrivateKey::public_key),
        }
    }
}

/// Refuses a mobile host with the gateway's key.
pub(super) fn refuse_own_key(
    config: &GatewayConfig,
    own_keys: PublicKeys,
    source: &Source,
) -> Result<(), Failure> {
    let mut peers = config.mobiles();
    let own = [Some(own_keys.present), own_keys.former, own_keys.ended];
    match peers.find(|mobile| mobile.key().is_some() && own.contains(&mobile.key())) {
        None => Ok(()),
        Some(mobile) => {
            let what = "this is the gateway's own key; give the mobile host's";
            let place = mobile.place_of_key();
            Err(mobile.source(source).wrong(place, what))
        }
    }
}
