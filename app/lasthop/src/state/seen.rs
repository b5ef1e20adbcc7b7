//! What tells which files of hosts have changed since they were read: only those are read again, and sent on.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::config::entry::{Kind, Texts};
use crate::config::gateway::GatewayConfig;
use crate::config::{Source, files_of_hosts};
use crate::failure::Failure;

/// Least age of a change of a file that its times show, in seconds: those of an earlier one may be the same.
const SETTLED: i64 = 2;

/// Files in the folders of hosts, as they were seen last.
#[derive(Debug, Default)]
pub(super) struct SeenFiles {
    files: BTreeMap<Kind, HashMap<OsString, Seen>>,
    /// Number of the last look that has found a change, or of the last change by a claim.
    version: u64,
}

/// A file that was seen.
#[derive(Debug, Clone, Copy)]
struct Seen {
    is_there: bool,
    /// Identity of what was read; without one it is read again.
    stamp: Option<Stamp>,
    /// Number of the look, or of the change by a claim, that has found this.
    version: u64,
}

/// Identity of the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    length: u64,
    modified: (i64, i64),
    /// Nobody can set this time.
    changed: (i64, i64),
}

impl Stamp {
    /// Returns that of a file, if it is known to change with the content.
    fn of(metadata: &Metadata, now: u32) -> Option<Self> {
        let is_settled = metadata.ctime() + SETTLED <= i64::from(now);
        (metadata.is_file() && is_settled).then(|| Self {
            place: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// What has changed since the last look.
#[derive(Default)]
pub(super) struct Look {
    pub(super) changes: BTreeMap<Kind, Texts>,
    stamps: Vec<(Kind, OsString, Option<Stamp>)>,
}

impl SeenFiles {
    /// Returns the number of the last change that was found.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Reads the files that have changed in the folders that a configuration names, and the former keys.
    ///
    /// `now` is the time in seconds since 1970-01-01 UTC.
    pub(super) fn look(&self, source: &Source, now: u32) -> Result<Look, Failure> {
        let folders = GatewayConfig::folders_in(source)?;
        let mut look = Look::default();
        for kind in Kind::ALL {
            let mut names = HashSet::new();
            let mut texts = Texts::default();
            if let Some(folder) = folders.get(&kind) {
                for entry in files_of_hosts(folder)? {
                    let name = entry.file_name();
                    // One that is gone by now cannot be read either.
                    let stamp = entry.metadata().ok();
                    let stamp = stamp.and_then(|metadata| Stamp::of(&metadata, now));
                    if stamp.is_none() || self.stamp_of(kind, &name) != stamp {
                        let file = Source::read(&entry.path())?;
                        texts.hosts.insert(PathBuf::from(&name), file.text().into());
                        look.stamps.push((kind, name.clone(), stamp));
                    }
                    names.insert(name);
                }
                texts.former = source.former_keys(kind, folder).text().into();
            }
            let seen = self.files.get(&kind).into_iter().flatten();
            let gone = seen.filter(|(name, seen)| seen.is_there && !names.contains(*name));
            texts.gone = gone.map(|(name, _)| PathBuf::from(name)).collect();
            look.changes.insert(kind, texts);
        }
        Ok(look)
    }

    fn stamp_of(&self, kind: Kind, name: &OsStr) -> Option<Stamp> {
        self.files.get(&kind)?.get(name)?.stamp
    }

    /// Notes that what a look has found is known now.
    pub(super) fn note(&mut self, look: Look) {
        let gone = look.changes.iter();
        let gone: Vec<_> = gone
            .flat_map(|(kind, texts)| texts.gone.iter().map(|name| (*kind, name.clone())))
            .collect();
        if self.version == 0 || !gone.is_empty() || !look.stamps.is_empty() {
            self.version += 1;
        }
        let version = self.version;
        let mut set = |kind, name, is_there, stamp| {
            let seen = Seen {
                is_there,
                stamp,
                version,
            };
            self.files.entry(kind).or_default().insert(name, seen);
        };
        for (kind, name) in gone {
            set(kind, name.into_os_string(), false, None);
        }
        for (kind, name, stamp) in look.stamps {
            set(kind, name, true, stamp);
        }
    }

    /// Notes that the content of a file is changed now; the next look reads it again, or finds that it is gone.
    pub(super) fn change(&mut self, kind: Kind, name: OsString) {
        self.version += 1;
        let seen = Seen {
            is_there: true,
            stamp: None,
            version: self.version,
        };
        self.files.entry(kind).or_default().insert(name, seen);
    }

    /// Returns the names of the files of a kind that have changed since a version: those that are there, and those that
    /// are not. Those who ask know that version, and so which files were gone by then.
    pub(super) fn since(
        &mut self,
        version: u64,
        kind: Kind,
    ) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
        let files = self.files.entry(kind).or_default();
        files.retain(|_, seen| seen.is_there || seen.version > version);
        let changed = files.iter().filter(|(_, seen)| seen.version > version);
        let named = changed.map(|(name, seen)| (PathBuf::from(name), seen.is_there));
        let (there, gone): (Vec<_>, Vec<_>) = named.partition(|(_, is_there)| *is_there);
        let names = |files: Vec<(PathBuf, bool)>| files.into_iter().map(|(name, _)| name).collect();
        (names(there), names(gone))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::daemon::unix_seconds;

    #[test]
    fn only_files_that_have_changed_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let peers = folder.path().join("peers");
        fs::create_dir(&peers).unwrap();
        let write = |name: &str, text: &str| fs::write(peers.join(name), text).unwrap();
        let source = Source::new(
            folder.path().join("gateway.toml"),
            "peers_folder = \"peers\"\n".into(),
            None,
        );
        let mut seen = SeenFiles::default();
        let mut look = |after: u32| {
            let mut look = seen.look(&source, unix_seconds() + after).unwrap();
            let texts = look.changes.remove(&Kind::Mobile).unwrap();
            look.changes.insert(Kind::Mobile, texts.clone());
            seen.note(look);
            let read: Vec<_> = texts.hosts.into_values().collect();
            (read.join(" "), texts.gone.len())
        };
        write("a.toml", "one");
        write("b.toml", "two");
        write("notes", "nothing");
        let read = |words: &str, gone| (words.to_owned(), gone);
        assert_eq!(look(0), read("one two", 0));
        assert_eq!(
            look(60),
            read("one two", 0),
            "their times may not tell a change"
        );
        assert_eq!(look(60), read("", 0));
        write("b.toml", "six");
        write("c.toml", "ten");
        assert_eq!(look(60), read("six ten", 0));
        fs::rename(peers.join("c.toml"), peers.join("a.toml")).unwrap();
        assert_eq!(look(60), read("ten", 1));
        assert_eq!(look(60), read("", 0));
    }
}
