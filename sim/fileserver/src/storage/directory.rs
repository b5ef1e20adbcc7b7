//! The entries of a directory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Cookies of the entry `.`, of `..`, and of the first other entry.
pub(crate) const ITSELF: u64 = 1;
pub(crate) const PARENT: u64 = 2;
const FIRST: u64 = 3;

/// A directory. Each entry keeps its cookie, which no other entry ever gets, so that a listing continues at its place,
/// whatever was added or removed meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    /// Inode of the parent directory; the root is its own parent.
    pub(crate) parent: u64,
    cookies: BTreeMap<Arc<[u8]>, u64>,
    entries: BTreeMap<u64, (Arc<[u8]>, u64)>,
    next_cookie: u64,
}

impl Directory {
    pub(crate) fn new(parent: u64) -> Self {
        Self {
            parent,
            cookies: BTreeMap::new(),
            entries: BTreeMap::new(),
            next_cookie: FIRST,
        }
    }

    /// Returns the number of entries, without `.` and `..`.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the inode of `name`.
    pub(crate) fn get(&self, name: &[u8]) -> Option<u64> {
        let (_, inode) = self.entries.get(self.cookies.get(name)?)?;
        Some(*inode)
    }

    /// Adds an entry, and replaces one with the same name.
    pub(crate) fn insert(&mut self, name: &[u8], inode: u64) {
        self.remove(name);
        let name = Arc::<[u8]>::from(name);
        self.cookies.insert(name.clone(), self.next_cookie);
        self.entries.insert(self.next_cookie, (name, inode));
        self.next_cookie += 1;
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, name: &[u8]) {
        if let Some(cookie) = self.cookies.remove(name) {
            self.entries.remove(&cookie);
        }
    }

    /// Returns the entries after the one with `cookie`, in the order of their creation: cookie, name, inode.
    pub(crate) fn behind(&self, cookie: u64) -> impl Iterator<Item = (u64, &[u8], u64)> {
        let range = (Bound::Excluded(cookie), Bound::Unbounded);
        let entries = self.entries.range(range);
        entries.map(|(cookie, (name, inode))| (*cookie, &**name, *inode))
    }
}
