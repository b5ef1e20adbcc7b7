//! What a copy needs of what keeps its list: in a running gateway that is etcd.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// What keeps the list of one gateway. It numbers its changes: each has a revision.
pub(super) trait Store {
    /// Returns the entries of the hosts that have changed since a revision; since 0: all.
    fn list(&self, since: i64) -> Result<Listing, Failure>;

    /// Returns the keys of all hosts at a revision.
    fn keys(&self, revision: i64) -> Result<BTreeSet<String>, Failure>;

    /// Writes entries of hosts, all or none, if the list is as it was. Returns the revision with them, or none if the
    /// list is another one.
    fn write(&self, writes: &[Write<'_>], was: &State<'_>) -> Result<Option<i64>, Failure>;

    /// Makes the keys belong to the gateway with this public key, unless they belong to one already since another
    /// revision than `former`.
    fn own(&self, public_key: &str, former: i64) -> Result<(), Failure>;
}

/// Entries of the list.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) origin: Origin,
    /// Public key of the gateway whose list it is; empty if it is nobody's yet.
    pub(super) owner: String,
    /// Revision of the last write by a gateway.
    pub(super) written: i64,
    /// Number of the last change in etcd.
    pub(super) revision: i64,
    /// Number of all entries.
    pub(super) count: usize,
    /// Keys, without the prefix, and values of those that were asked for.
    pub(super) entries: Vec<(String, String)>,
}

/// What tells a list from another one at the same place, such as one that was begun anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Number of the cluster of etcd; it depends on the members' names and addresses.
    pub(super) cluster: u64,
    /// Revision at which it became a gateway's.
    pub(super) revision: i64,
}

/// A change of one key.
#[derive(Debug)]
pub(super) enum Write<'a> {
    Put(&'a str, &'a str),
    Delete(&'a str),
}

impl Write<'_> {
    /// Returns the key.
    pub(super) fn key(&self) -> &str {
        match self {
            Self::Put(key, _) | Self::Delete(key) => key,
        }
    }
}

/// What a write finds if nobody has changed the list meanwhile.
#[derive(Debug)]
pub(super) struct State<'a> {
    /// No entry has changed since this revision.
    pub(super) revision: i64,
    /// Revision of the last write by a gateway.
    pub(super) written: i64,
    /// Those keys of the write that are there: that one was removed shows nowhere else.
    pub(super) present: Vec<&'a str>,
}
