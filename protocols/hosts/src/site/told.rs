//! What a gateway has told, in a form for the next life of a host.

use serde::{Deserialize, Serialize};
use session::PublicKey;

use super::directory::{Entry, Replica};
use super::message::Key;

/// What a gateway has told a host of other peers. Its driver may store it for the next life of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The gateway that has told it.
    #[serde(with = "key_text")]
    pub(crate) teller: Key,
    peers: Vec<Named>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Named {
    #[serde(with = "key_text")]
    key: Key,
    #[serde(flatten)]
    entry: Entry,
}

impl Told {
    /// Returns what this gateway has told; `None` if that is nothing.
    pub(crate) fn by(teller: Key, replica: &Replica) -> Option<Self> {
        let named = |(key, entry): (&Key, &Entry)| Named {
            key: *key,
            entry: entry.clone(),
        };
        let peers: Vec<_> = replica.entries().map(named).collect();
        (!peers.is_empty()).then_some(Self { teller, peers })
    }

    /// Returns the keys of gateways in it.
    pub fn gateways(&self) -> impl Iterator<Item = PublicKey> {
        let gateway = |named: &Named| match named.entry {
            Entry::Gateway { .. } => Some(PublicKey::from_bytes(named.key)),
            Entry::Mobile { .. } => None,
        };
        self.peers.iter().filter_map(gateway)
    }

    /// Returns the peers.
    pub(crate) fn into_peers(self) -> impl Iterator<Item = (Key, Entry)> {
        self.peers
            .into_iter()
            .map(|Named { key, entry }| (key, entry))
    }
}

/// Keys as users see them.
mod key_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use session::PublicKey;

    use super::Key;

    pub(super) fn serialize<S: Serializer>(key: &Key, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&PublicKey::from_bytes(*key))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Key, D::Error> {
        let text = String::deserialize(deserializer)?;
        let key: PublicKey = text.parse().map_err(D::Error::custom)?;
        Ok(*key.bytes())
    }
}
