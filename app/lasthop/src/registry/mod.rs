//! Registries: where the hosts that a gateway knows are listed.
//!
//! The gateway itself reads files in its folders. They are the list ([`Folders`]), or a copy of the list that etcd has
//! ([`Mirror`]), which survives the loss of the machine. A change is made in the registry first; without an answer of
//! it nothing changes, and the gateway goes on with the copy.

mod answers;
mod client;
mod cluster;
mod copied;
#[cfg(test)]
mod faults_tests;
mod folders;
mod follower;
mod merge;
mod mirror;
#[cfg(test)]
mod mirror_tests;
#[cfg(test)]
mod model;
#[cfg(test)]
mod site_tests;
mod store;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use client::Client;
pub(crate) use folders::{Folders, file_of};
pub(crate) use follower::Follower;
use mirror::Mirror;
use session::PublicKey;

use crate::config::Source;
use crate::config::entry::Kind;
use crate::config::registry::RegistryConfig;
use crate::config::values::Name;
use crate::failure::Failure;

/// The list of the hosts that a gateway knows.
pub(crate) trait Registry {
    /// Returns true if the folders are a copy of the list.
    fn is_elsewhere(&self) -> bool;

    /// Brings the folders up to date with the list; returns what is wrong with the hosts that this gateway does not
    /// take.
    ///
    /// # Errors
    /// The registry does not answer, or is another gateway's. The folders are as before then.
    fn refresh(&mut self) -> Result<Vec<Failure>, Failure>;

    /// Makes a change in the list, and then in the folders.
    ///
    /// # Errors
    /// The registry does not answer, or has another change that is not in the folders yet. Nothing is changed then.
    fn commit(&mut self, change: &Change) -> Result<(), Failure>;
}

/// A change of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A host gets this text.
    Put {
        kind: Kind,
        name: String,
        text: String,
    },
    /// A host gets another name.
    Rename {
        kind: Kind,
        name: String,
        other: String,
    },
    Remove {
        kind: Kind,
        name: String,
    },
}

/// Returns the registry of the gateway with this configuration, which `client` reaches if it is no folder.
pub(crate) fn open(
    source: &Source,
    client: Option<Arc<Client>>,
) -> Result<Box<dyn Registry>, Failure> {
    let folders = Folders::of(source)?;
    Ok(match client {
        Some(client) => Box::new(Mirror::open(client, source.clone(), folders)?),
        None => Box::new(folders),
    })
}

/// Returns a client of the registry of the gateway with this configuration, if it has one.
pub(crate) fn connect(source: &Source) -> Result<Option<Arc<Client>>, Failure> {
    let config = RegistryConfig::of(source)?;
    let client = config.map(|config| Client::new(&config, source));
    Ok(client.transpose()?.map(Arc::new))
}

/// Returns what is wrong with a registry after a refresh, for the user.
pub(crate) fn warnings(refreshed: &Result<Vec<Failure>, Failure>) -> Vec<String> {
    match refreshed {
        Ok(refused) => refused.iter().map(Failure::to_string).collect(),
        Err(away) => vec![format!("{away}; the list here is the gateway's copy of it")],
    }
}

/// Tells the log what is wrong with a registry after a refresh.
pub(crate) fn log(refreshed: &Result<Vec<Failure>, Failure>) {
    for warning in warnings(refreshed) {
        tracing::warn!("{warning}");
    }
}

/// Returns the key of a host below those of its gateway.
fn key_of(kind: Kind, name: &str) -> String {
    format!("{}/{name}", folder_of(kind))
}

/// Returns the host whose key this is, if it is that of one.
fn host_of(key: &str) -> Option<(Kind, Name)> {
    let (folder, name) = key.split_once('/')?;
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| folder_of(*kind) == folder)?;
    Some((kind, Name::read(name).ok()?))
}

fn folder_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Mobile => "peers",
        Kind::Gateway => "gateways",
    }
}

/// Returns the public keys of a host and of its invitation. What is no entry of a host has none.
fn keys_in(text: &str) -> BTreeSet<PublicKey> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let invitation = table.get("invitation").and_then(toml::Value::as_table);
    let tables = [Some(&table), invitation].into_iter().flatten();
    let keys = tables.filter_map(|table| table.get("public_key")?.as_str()?.parse().ok());
    keys.collect()
}
