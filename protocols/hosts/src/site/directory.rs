//! What a gateway tells of its peers: the other gateways of its mobile hosts, and these of the gateways.
//!
//! Each change of a directory has a number. A reader gets the changes since the last one that it has, in portions, and
//! the gateway repeats a portion until the reader has answered.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::Key;

/// Bytes of entries after which a portion ends.
const PORTION: usize = 8_192;
/// Most peers in a directory.
const MOST: usize = 65_536;
/// Removed peers after which a directory begins anew, without them.
const REMOVED_MOST: usize = 1_024;
/// Pause before the first repetition of a portion; it doubles, up to the longest one.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MOST: Duration = Duration::from_secs(10);

/// A peer in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// A mobile host with its home at the gateway whose directory this is.
    Mobile {
        name: String,
        prefixes: Vec<(IpAddr, u8)>,
        /// Its limits ([`Caps`](crate::Caps)).
        new_flows: Option<u32>,
        packets: Option<u32>,
    },
    /// A gateway of the site, with its address for datagrams.
    Gateway {
        name: String,
        at: SocketAddr,
        /// Its address for mobile hosts, if that is another one.
        for_mobiles: Option<SocketAddr>,
    },
}

impl Entry {
    /// Returns the name of the peer.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Mobile { name, .. } | Self::Gateway { name, .. } => name,
        }
    }

    /// Returns the entry of a gateway for mobile hosts; these are told of nobody else.
    pub(crate) fn for_mobiles(self) -> Option<Self> {
        match self {
            Self::Gateway {
                name,
                at,
                for_mobiles,
            } => Some(Self::Gateway {
                name,
                at: for_mobiles.unwrap_or(at),
                for_mobiles: None,
            }),
            Self::Mobile { .. } => None,
        }
    }
}

/// Number of the latest change that a reader has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The wall clock when the directory began: a gateway that starts again makes another one.
    epoch: u64,
    change: u64,
}

/// Changes of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Portion {
    /// What the reader has before, and the number of the latest change that it has then.
    after: Mark,
    upto: u64,
    /// True if there are no more.
    is_last: bool,
    /// Peers that were added or changed, and those that were removed.
    entries: Vec<(Key, Option<Entry>)>,
}

/// A directory.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    epoch: u64,
    change: u64,
    /// Peers with the numbers of their latest changes; removed ones have no entry.
    peers: BTreeMap<Key, (u64, Option<Entry>)>,
    changed: BTreeMap<u64, Key>,
    removed: usize,
}

impl Directory {
    /// Adds, changes or removes a peer; returns true if that changes anything.
    pub(crate) fn set(&mut self, key: Key, entry: Option<Entry>) -> bool {
        let known = self.peers.get(&key);
        let present = known.and_then(|(_, entry)| entry.as_ref());
        if present == entry.as_ref() {
            return false;
        }
        if let Some((change, former)) = known {
            self.changed.remove(change);
            self.removed -= usize::from(former.is_none());
        }
        self.change += 1;
        self.removed += usize::from(entry.is_none());
        self.changed.insert(self.change, key);
        self.peers.insert(key, (self.change, entry));
        if self.removed > REMOVED_MOST {
            self.begin_anew();
        }
        true
    }

    fn begin_anew(&mut self) {
        self.epoch += 1;
        self.removed = 0;
        let peers = &mut self.peers;
        peers.retain(|_, (_, entry)| entry.is_some());
        self.changed.retain(|_, key| peers.contains_key(key));
    }

    /// Returns true if it has never had a peer.
    pub(crate) fn is_blank(&self) -> bool {
        self.change == 0
    }

    /// Returns true if the reader with this mark has all of it.
    pub(crate) fn is_read(&self, mark: Mark) -> bool {
        mark.epoch == self.epoch && mark.change == self.change
    }

    /// Returns the changes after those that a reader has. The directory begins at the time `wall`, if it has not yet.
    pub(crate) fn portion(&mut self, wall: u64, reader: Mark) -> Portion {
        if self.epoch == 0 {
            self.epoch = wall.max(1);
        }
        let is_known = reader.epoch == self.epoch && reader.change <= self.change;
        let after = Mark {
            epoch: self.epoch,
            change: if is_known { reader.change } else { 0 },
        };
        let mut portion = Portion {
            after,
            upto: self.change,
            is_last: true,
            entries: Vec::new(),
        };
        let mut bytes = 0;
        for (change, key) in self.changed.range(after.change + 1..) {
            if bytes >= PORTION {
                (portion.upto, portion.is_last) = (change - 1, false);
                break;
            }
            let entry = self.peers.get(key).and_then(|(_, entry)| entry.clone());
            bytes += size_of::<Key>() + entry.as_ref().map_or(0, bytes_of);
            portion.entries.push((*key, entry));
        }
        portion
    }
}

/// Returns the bytes of an entry in a message, about.
fn bytes_of(entry: &Entry) -> usize {
    let prefixes = match entry {
        Entry::Mobile { prefixes, .. } => prefixes.len(),
        Entry::Gateway { .. } => 1,
    };
    entry.name().len() + prefixes * size_of::<(IpAddr, u8)>()
}

/// A reader, as the gateway sees it that tells it.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) mark: Mark,
    /// True if its version knows directories.
    pub(crate) understands: bool,
    pause: Duration,
}

impl Reader {
    /// Begins with the next portion.
    pub(crate) fn begin(&mut self) {
        self.pause = PAUSE;
    }

    /// Returns the time of the repetition of the portion that is sent now.
    pub(crate) fn repeats_at(&mut self, now: Instant) -> Instant {
        let due = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSE_MOST);
        due
    }
}

/// The copy of a gateway's directory at a reader.
#[derive(Debug, Default)]
pub(crate) struct Replica {
    mark: Mark,
    peers: BTreeMap<Key, Entry>,
    /// Those that were told since the directory began anew, until all of it is read.
    told: Option<BTreeSet<Key>>,
}

impl Replica {
    /// Returns what it has, for the gateway.
    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    /// Returns the entry of a peer.
    pub(crate) fn get(&self, key: &Key) -> Option<&Entry> {
        self.peers.get(key)
    }

    /// Returns what it has of each peer.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.peers.iter()
    }

    /// Takes what a former life of this host had; returns what has changed. The gateway tells all of it again, and what
    /// is in its directory no more is removed then.
    pub(crate) fn recall(
        &mut self,
        told: impl Iterator<Item = (Key, Entry)>,
    ) -> Vec<(Key, Option<Entry>)> {
        let mut changes = Vec::new();
        if self.mark == Mark::default() {
            for (key, entry) in told.take(MOST) {
                self.put(key, Some(entry), &mut changes);
            }
        }
        changes
    }

    /// Takes a portion; returns what has changed.
    pub(crate) fn take(&mut self, portion: Portion) -> Vec<(Key, Option<Entry>)> {
        let (from, after) = (portion.after, self.mark);
        if from.epoch != after.epoch && from.change == 0 {
            self.told = Some(BTreeSet::new());
        } else if from != after {
            return Vec::new();
        }
        self.mark = Mark {
            change: portion.upto,
            ..from
        };
        let mut changes = Vec::new();
        for (key, entry) in portion.entries {
            let has_room = self.peers.len() < MOST || self.peers.contains_key(&key);
            if let Some(told) = self.told.as_mut().filter(|_| has_room) {
                told.insert(key);
            }
            self.put(key, entry.filter(|_| has_room), &mut changes);
        }
        if portion.is_last
            && let Some(told) = self.told.take()
        {
            let gone = self.peers.keys().filter(|key| !told.contains(*key));
            for key in gone.copied().collect::<Vec<_>>() {
                self.put(key, None, &mut changes);
            }
        }
        changes
    }

    fn put(&mut self, key: Key, entry: Option<Entry>, changes: &mut Vec<(Key, Option<Entry>)>) {
        if self.peers.get(&key) == entry.as_ref() {
            return;
        }
        match &entry {
            Some(entry) => self.peers.insert(key, entry.clone()),
            None => self.peers.remove(&key),
        };
        changes.push((key, entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Key {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn entry(number: u32) -> Entry {
        Entry::Mobile {
            name: format!("mobile{number}"),
            prefixes: vec![(IpAddr::from(number.to_be_bytes()), 32)],
            new_flows: None,
            packets: Some(number),
        }
    }

    /// Has the reader read all; returns the number of portions, and what has changed for it.
    fn read(directory: &mut Directory, replica: &mut Replica) -> (usize, usize) {
        let (mut portions, mut changes) = (0, 0);
        while portions == 0 || !directory.is_read(replica.mark()) {
            let portion = directory.portion(7, replica.mark());
            let bytes = postcard::to_allocvec(&portion).expect("a writer that works");
            assert!(bytes.len() < 2 * PORTION);
            changes += replica.take(portion).len();
            portions += 1;
        }
        let present = directory
            .peers
            .iter()
            .filter_map(|(key, (_, entry))| Some((key, entry.as_ref()?)));
        assert!(present.eq(replica.peers.iter()));
        (portions, changes)
    }

    #[test]
    fn a_reader_gets_all_and_then_only_what_changes() {
        let (mut directory, mut replica) = (Directory::default(), Replica::default());
        for number in 0..1_000 {
            assert!(directory.set(key(number), Some(entry(number))));
            assert!(!directory.set(key(number), Some(entry(number))));
        }
        let (portions, changes) = read(&mut directory, &mut replica);
        assert!((4..20).contains(&portions), "{portions} portions");
        assert_eq!(changes, 1_000);
        directory.set(key(1), None);
        directory.set(key(2), Some(entry(3)));
        directory.set(key(5_000), Some(entry(1)));
        assert_eq!(read(&mut directory, &mut replica), (1, 3));
        assert_eq!(read(&mut directory, &mut replica), (1, 0));
    }

    #[test]
    fn a_portion_that_comes_twice_or_late_changes_nothing() {
        let (mut directory, mut replica) = (Directory::default(), Replica::default());
        directory.set(key(1), Some(entry(1)));
        let first = directory.portion(7, replica.mark());
        assert_eq!(replica.take(first.clone()).len(), 1);
        assert!(replica.take(first.clone()).is_empty());
        directory.set(key(1), None);
        let second = directory.portion(7, replica.mark());
        assert_eq!(replica.take(second).len(), 1);
        assert!(replica.take(first).is_empty());
        assert!(replica.get(&key(1)).is_none());
    }

    /// A gateway that starts again has another directory; what is not in it is removed at the end.
    #[test]
    fn a_directory_that_begins_anew_replaces_the_former_one() {
        let mut replica = Replica::default();
        let mut directory = Directory::default();
        for number in 0..500 {
            directory.set(key(number), Some(entry(number)));
        }
        read(&mut directory, &mut replica);
        let mut next = Directory::default();
        for number in 250..750 {
            next.set(key(number), Some(entry(number)));
        }
        let first = next.portion(9, replica.mark());
        assert!(!first.is_last);
        replica.take(first);
        assert!(replica.get(&key(1)).is_some(), "not all is read yet");
        let (_, changes) = read(&mut next, &mut replica);
        assert!(changes >= 250 && replica.get(&key(1)).is_none());
    }

    #[test]
    fn removed_peers_take_no_memory_for_ever() {
        let (mut directory, mut replica) = (Directory::default(), Replica::default());
        directory.set(key(0), Some(entry(0)));
        read(&mut directory, &mut replica);
        for number in 1..5_000 {
            directory.set(key(number), Some(entry(number)));
            directory.set(key(number), None);
        }
        assert!(directory.peers.len() <= REMOVED_MOST + 1);
        assert_eq!(directory.changed.len(), directory.peers.len());
        read(&mut directory, &mut replica);
        assert_eq!(replica.peers.len(), 1);
    }
}
