//! A client of etcd for the keys of one gateway.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;

use super::answers::{Answer, Range, Transaction};
use super::cluster::Cluster;
use super::store::{Listing, Owner, State, Store, Write};
use super::watch::Watch;
use crate::config::Source;
use crate::config::registry::RegistryConfig;
use crate::failure::Failure;

/// Time after which a watch is begun anew: a member that has gone without a word is noticed then.
const WATCH: Duration = Duration::from_mins(1);
/// Most entries in an answer.
const PAGE: usize = 1_000;
/// Most entries of a list.
const MOST_ENTRIES: usize = 2 * 65_536;

/// A client for the keys of one gateway.
pub(crate) struct Client {
    cluster: Cluster,
    /// Begin of the keys of the gateway.
    prefix: String,
    /// Revision of its last write.
    written: AtomicI64,
}

impl Client {
    /// Creates a client of the registry of the configuration in `source`.
    pub(super) fn new(config: &RegistryConfig, source: &Source) -> Result<Self, Failure> {
        Ok(Self {
            cluster: Cluster::new(config, source)?,
            prefix: config.prefix.0.clone(),
            written: AtomicI64::default(),
        })
    }

    /// Returns true if this client has made the change with this revision, before which it knew all others.
    pub(super) fn has_written(&self, revision: i64) -> bool {
        self.written.load(Ordering::Relaxed) == revision
    }

    /// Begins to watch the hosts' entries from a revision on.
    pub(super) fn watch(&self, from: i64) -> Result<Watch, Failure> {
        let request = json!({ "create_request": {
            "key": BASE64.encode(self.hosts()),
            "range_end": BASE64.encode(self.end_of_hosts()),
            "start_revision": from.to_string(),
        } });
        Watch::begin(self.cluster.request("watch", &request, WATCH)?)
    }

    /// Returns the key with the public key of the gateway whose list it is.
    fn owner(&self) -> String {
        format!("{}owner", self.prefix)
    }

    /// Returns the begin of the keys of hosts.
    fn hosts(&self) -> String {
        format!("{}hosts/", self.prefix)
    }

    /// Returns the first key after all of them.
    fn end_of_hosts(&self) -> String {
        // The character after '/'.
        format!("{}hosts0", self.prefix)
    }

    /// Returns a key without what those of all hosts begin with.
    fn below(&self, key: &str) -> String {
        key.strip_prefix(&self.hosts()).unwrap_or(key).into()
    }
}

impl Store for Client {
    fn list(&self, since: i64) -> Result<Listing, Failure> {
        let mut listing = Listing::default();
        let mut from = self.hosts();
        loop {
            let hosts = json!({
                "key": BASE64.encode(&from),
                "range_end": BASE64.encode(self.end_of_hosts()),
                "limit": PAGE.to_string(),
                // All pages are of one moment.
                "revision": listing.version.revision.to_string(),
                "min_mod_revision": since.saturating_add(1).to_string(),
            });
            let owner = json!({ "key": BASE64.encode(self.owner()) });
            let ranges =
                json!({ "success": [{ "requestRange": owner }, { "requestRange": hosts }] });
            let answer: Transaction = self.cluster.call("kv/txn", &ranges)?;
            let Ok([owner, page]) = <[Answer; 2]>::try_from(answer.responses) else {
                return Err(self.cluster.refused("the answer lacks a part"));
            };
            let (owner, page) = (owner.response_range.kvs, page.response_range);
            if listing.version.revision == 0 {
                listing.version.revision = answer.header.revision;
                listing.count = page.count;
                listing.cluster = answer.header.cluster_id;
            }
            if let Some(owner) = owner.first() {
                listing.version.written = owner.mod_revision;
                listing.owner = Owner::read(&decoded(&owner.value));
                listing.version.list = listing.owner.list;
            }
            let last = page.kvs.last().map(|pair| decoded(&pair.key));
            for pair in &page.kvs {
                let key = self.below(&decoded(&pair.key));
                listing.entries.push((key, decoded(&pair.value)));
            }
            if listing.count.max(listing.entries.len()) > MOST_ENTRIES {
                let what =
                    format!("the registry has more than {MOST_ENTRIES} hosts of this gateway");
                return Err(Failure::setting(what));
            }
            match last.filter(|_| page.more) {
                Some(last) => from = format!("{last}\0"),
                None => return Ok(listing),
            }
        }
    }

    fn keys(&self, revision: i64) -> Result<Option<BTreeSet<String>>, Failure> {
        let request = json!({
            "key": BASE64.encode(self.hosts()),
            "range_end": BASE64.encode(self.end_of_hosts()),
            "revision": revision.to_string(),
            "keys_only": true,
        });
        let all: Option<Range> = self.cluster.call_in_the_past("kv/range", &request)?;
        let keys = |all: Range| {
            let keys = all.kvs.iter().map(|pair| self.below(&decoded(&pair.key)));
            keys.collect()
        };
        Ok(all.map(keys))
    }

    fn write(
        &self,
        writes: &[Write<'_>],
        owner: Option<&Owner>,
        was: &State<'_>,
    ) -> Result<Option<i64>, Failure> {
        let key = |key: &str| BASE64.encode(self.hosts() + key);
        let of_owner = BASE64.encode(self.owner());
        let write = |write: &Write<'_>| match write {
            Write::Put(name, text) => {
                json!({ "requestPut": { "key": key(name), "value": BASE64.encode(text) } })
            }
            Write::Delete(name) => json!({ "requestDeleteRange": { "key": key(name) } }),
        };
        let mut compare = vec![
            json!({
                "key": BASE64.encode(self.hosts()),
                "range_end": BASE64.encode(self.end_of_hosts()),
                "target": "MOD",
                "result": "LESS",
                "mod_revision": was.version.revision.saturating_add(1).to_string(),
            }),
            json!({
                "key": of_owner,
                "target": "MOD",
                "result": "EQUAL",
                "mod_revision": was.version.written.to_string(),
            }),
        ];
        compare.extend(was.present.iter().map(|name| {
            json!({ "key": key(name), "target": "CREATE", "result": "GREATER", "create_revision": "0" })
        }));
        // Its revision is that of the write then.
        let mark = match owner {
            Some(owner) => json!({ "key": of_owner, "value": BASE64.encode(owner.to_string()) }),
            None => json!({ "key": of_owner, "ignore_value": true }),
        };
        let mark = json!({ "requestPut": mark });
        let success: Vec<_> = writes.iter().map(write).chain([mark]).collect();
        let request = json!({ "compare": compare, "success": success });
        let done: Transaction = self.cluster.call("kv/txn", &request)?;
        let written = done.succeeded.then_some(done.header.revision);
        written.inspect(|revision| self.written.store(*revision, Ordering::Relaxed));
        Ok(written)
    }

    fn own(&self, owner: Owner, former: i64) -> Result<(), Failure> {
        let list = number()?;
        let owner = Owner { list, ..owner };
        let key = BASE64.encode(self.owner());
        let value = BASE64.encode(owner.to_string());
        let request = json!({
            "compare": [{
                "key": key,
                "target": "MOD",
                "result": "EQUAL",
                "mod_revision": former.to_string(),
            }],
            "success": [{ "requestPut": { "key": key, "value": value } }],
        });
        let done = self.cluster.call("kv/txn", &request);
        done.map(|_: Transaction| ())
    }
}

/// Returns a number for a new list.
fn number() -> Result<u64, Failure> {
    getrandom::u64()
        .map_err(|error| Failure::setting(format!("the system has no random numbers: {error}")))
}

/// Returns the text of bytes in base64. What is no text is no host's entry either.
fn decoded(text: &str) -> String {
    let bytes = BASE64.decode(text).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
