//! What a copy needs of what keeps its list: in a running gateway that is etcd.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Most former lists that a list names: a machine that knows an older one adds all that it has.
const MOST_ANCESTORS: usize = 16;

/// What keeps the list of one gateway. It numbers its changes: each has a revision.
pub(super) trait Store {
    /// Returns the entries of the hosts that have changed since a revision; since 0: all.
    fn list(&self, since: i64) -> Result<Listing, Failure>;

    /// Returns the keys of all hosts at a revision, or none if etcd does not remember that.
    fn keys(&self, revision: i64) -> Result<Option<BTreeSet<String>>, Failure>;

    /// Writes entries of hosts, and the owner if one is given, all or none, if the list is as it was. Returns the
    /// revision with them, or none if the list is another one.
    fn write(
        &self,
        writes: &[Write<'_>],
        owner: Option<&Owner>,
        was: &State<'_>,
    ) -> Result<Option<i64>, Failure>;

    /// Begins a new list of this owner, with another number and the entries that are there, if `former` is the revision
    /// of the last write to the list that is there, or 0 if there is none.
    fn own(&self, owner: Owner, former: i64) -> Result<(), Failure>;
}

/// Entries of the list.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Number of the cluster of etcd; it depends on the members' names and addresses.
    pub(super) cluster: u64,
    pub(super) version: Version,
    pub(super) owner: Owner,
    /// Number of all entries.
    pub(super) count: usize,
    /// Keys, without the prefix, and values of those that were asked for.
    pub(super) entries: Vec<(String, String)>,
}

/// A list after one of its changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Version {
    /// Number that was drawn when the list began; 0 if there is none.
    pub(super) list: u64,
    /// Revision of the last write by a gateway.
    pub(super) written: i64,
    /// Number of the last change in etcd.
    pub(super) revision: i64,
}

/// Whose list it is: the value of a key of its own, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Owner {
    /// Public key of a gateway; empty if it is nobody's yet.
    pub(super) public_key: String,
    /// Number of the list.
    pub(super) list: u64,
    /// Former lists, all changes of which up to a version are in this one.
    pub(super) ancestors: Vec<Version>,
    /// Revision at which it had nothing else; 0 if it has always had more.
    pub(super) same_at: i64,
}

impl Version {
    /// Returns true if this one has all changes of `other`, a version of the same list. A gateway that writes knows all
    /// changes before; numbers of other changes count twice in a list that became one of an earlier day.
    pub(super) fn includes(&self, other: &Self) -> bool {
        self.list == other.list && (self.written, self.revision) >= (other.written, other.revision)
    }
}

impl Owner {
    /// Returns the owner of a list that takes the place of this one's, which has this version, and nothing but what
    /// `known` has up to its revision.
    pub(super) fn after(&self, version: &Version, known: &Version) -> Self {
        let mut next = self.clone();
        next.add_ancestor(*version);
        next.same_at = version.revision.min(known.revision);
        next
    }

    /// Notes that all changes of a list up to a version are in this one.
    pub(super) fn add_ancestor(&mut self, version: Version) {
        let all = &mut self.ancestors;
        let is_known = all.iter().any(|known| known.includes(&version));
        if is_known || version.list == 0 {
            return;
        }
        all.retain(|known| known.list != version.list);
        all.push(version);
        if all.len() > MOST_ANCESTORS {
            all.remove(0);
        }
    }

    /// Reads the value of the owner's key; what another program has written there is taken for a public key.
    pub(super) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self {
            public_key: text.into(),
            ..Self::default()
        })
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        formatter.write_str(&text)
    }
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
    pub(super) version: Version,
    /// Those keys of the write that are there: that one was removed shows nowhere else.
    pub(super) present: Vec<&'a str>,
}
