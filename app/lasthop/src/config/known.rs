//! What belongs to one mobile host alone: its name, keys and inner addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use session::PublicKey;

use super::Source;
use super::gateway::Mobile;
use super::values::Name;
use crate::failure::Failure;

/// Mobile hosts by what belongs to one of them alone, with the name of each.
#[derive(Debug, Default)]
pub(super) struct KnownMobiles {
    names: BTreeSet<Arc<str>>,
    keys: BTreeMap<PublicKey, Arc<str>>,
    networks: BTreeMap<IpNet, Arc<str>>,
    /// Those of the networks that have more than one address.
    wider: BTreeSet<IpNet>,
}

impl KnownMobiles {
    /// Adds a mobile host; refuses one that has a name, key or address in common with another.
    pub(super) fn add(&mut self, mobile: &Mobile, source: &Source) -> Result<(), Failure> {
        let Name(name) = mobile.name.get_ref();
        let name: Arc<str> = name.as_str().into();
        if !self.names.insert(name.clone()) {
            let what =
                format!("there is a peer named '{name}' already; give this one another name");
            return Err(source.wrong(Some(mobile.name.span()), what));
        }
        for key in mobile.keys() {
            if let Some(name) = self.keys.insert(key, name.clone()) {
                let what =
                    format!("peer '{name}' has this key too; each mobile needs a key of its own");
                return Err(source.wrong(mobile.place_of_key(), what));
            }
        }
        for network in mobile.networks() {
            let other = self.networks.insert(network, name.clone());
            if let Some(other) = other.filter(|other| *other != name) {
                let what =
                    format!("peer '{other}' has {network} too; an inner address belongs to one");
                return Err(source.wrong(Some(mobile.addresses.span()), what));
            }
            if network.prefix_len() < network.max_prefix_len() {
                self.wider.insert(network);
            }
        }
        Ok(())
    }

    /// Removes a mobile host.
    pub(super) fn remove(&mut self, mobile: &Mobile) {
        self.names.remove(mobile.name.get_ref().0.as_str());
        for key in mobile.keys() {
            self.keys.remove(&key);
        }
        for network in mobile.networks() {
            self.networks.remove(&network);
            self.wider.remove(&network);
        }
    }

    /// Returns the name of the mobile host that has a key, or an open invitation with it.
    pub(super) fn with_key(&self, key: &PublicKey) -> Option<&str> {
        self.keys.get(key).map(|name| &**name)
    }

    /// Returns true if an inner address belongs to a mobile host.
    pub(super) fn has_address(&self, address: IpAddr) -> bool {
        let is_within = |network: &IpNet| network.contains(&address);
        self.networks.contains_key(&address.into()) || self.wider.iter().any(is_within)
    }
}
