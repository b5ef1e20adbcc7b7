//! Keys that mobile hosts of a gateway had: their owners are told why they count no more. The file has a line for each:
//! key, reason, and the time since when.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use hosts::Decline;
use session::{FORMER_KEYS, PublicKey};

use super::files::replace;
use crate::daemon::unix_seconds;
use crate::failure::Failure;

/// Name of the file, in the folder of mobile hosts.
const FILE: &str = "former-keys";
/// Time for which a key is remembered, in seconds: 30 days.
const REMEMBERED: u32 = 30 * 24 * 60 * 60;
/// Most bytes of the file that are read.
const MOST_BYTES: u64 = 1 << 18;
/// Reasons, as they stand in the file.
const REASONS: [(&str, Decline); 3] = [
    ("revoked", Decline::Revoked),
    ("expired", Decline::Expired),
    ("replaced", Decline::Replaced),
];

/// Former keys, with the text of their file.
#[derive(Debug, Clone, Default)]
pub(crate) struct FormerKeys {
    text: String,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FormerKey {
    key: PublicKey,
    reason: Decline,
    since: u32,
}

impl FormerKeys {
    /// Returns those in the text of a file.
    pub(crate) fn new(text: String) -> Self {
        Self { text }
    }

    /// Reads those of a folder of mobile hosts. Without a file there are none; the answer to a former key is a service,
    /// so a file that cannot be read keeps nobody from starting.
    pub(crate) fn read(folder: &Path) -> Self {
        let path = path_in(folder);
        let length = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        if length > MOST_BYTES {
            return Self::default();
        }
        Self::new(std::fs::read_to_string(path).unwrap_or_default())
    }

    /// Returns the text of their file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns those that are remembered at this time, each with its reason, the oldest first.
    pub(crate) fn at(&self, now: u32) -> Vec<(PublicKey, Decline)> {
        let keys = self.keys(now).into_iter();
        keys.map(|former| (former.key, former.reason)).collect()
    }

    /// Returns those that are remembered. What is no key is skipped.
    fn keys(&self, now: u32) -> Vec<FormerKey> {
        let read = |line: &str| {
            let mut words = line.split_whitespace();
            let key = words.next()?.parse().ok()?;
            let reason = words.next()?;
            let (_, reason) = REASONS.iter().find(|(name, _)| *name == reason)?;
            let since: u32 = words.next()?.parse().ok()?;
            (now.saturating_sub(since) < REMEMBERED).then_some(FormerKey {
                key,
                reason: *reason,
                since,
            })
        };
        self.text.lines().filter_map(read).collect()
    }

    /// Adds keys, and writes the file; the oldest make room.
    pub(crate) fn note(
        &mut self,
        folder: &Path,
        keys: impl IntoIterator<Item = PublicKey>,
        reason: Decline,
    ) -> Result<(), Failure> {
        let mut keys = keys.into_iter().peekable();
        if keys.peek().is_none() {
            return Ok(());
        }
        let since = unix_seconds();
        let mut all = self.keys(since);
        for key in keys {
            all.retain(|former| former.key != key);
            all.push(FormerKey { key, reason, since });
        }
        let surplus = all.len().saturating_sub(FORMER_KEYS);
        self.text = text_of(&all[surplus..]);
        replace(&path_in(folder), &self.text)
    }
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

fn text_of(keys: &[FormerKey]) -> String {
    let mut text = String::new();
    for FormerKey { key, reason, since } in keys {
        let name = REASONS.iter().find(|(_, its)| its == reason);
        let name = name.map_or("revoked", |(name, _)| name);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{key} {name} {since}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> PublicKey {
        let mut bytes = [1; 32];
        // The lowest bits of a private key do not count.
        bytes[1..9].copy_from_slice(&number.to_le_bytes());
        session::PrivateKey::from_bytes(bytes).public_key()
    }

    #[test]
    fn keys_are_remembered_for_thirty_days_and_damage_is_skipped() {
        let text = format!(
            "{} revoked 1000\nnonsense\n{} replaced 2000\n{} unheard 2000\n",
            key(1),
            key(2),
            key(3)
        );
        let keys = FormerKeys::new(text);
        let first = (key(1), Decline::Revoked);
        let second = (key(2), Decline::Replaced);
        assert_eq!(keys.at(3_000), [first, second]);
        assert_eq!(keys.at(1_500 + REMEMBERED), [second]);
    }

    #[test]
    fn the_newest_keys_are_kept_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut keys = FormerKeys::default();
        let all = (0..FORMER_KEYS + 3).map(key);
        keys.note(folder.path(), all, Decline::Revoked).unwrap();
        keys.note(folder.path(), [key(7)], Decline::Replaced)
            .unwrap();
        let read = FormerKeys::read(folder.path()).at(unix_seconds());
        assert_eq!(read.len(), FORMER_KEYS);
        assert_eq!(read.first(), Some(&(key(3), Decline::Revoked)));
        assert_eq!(read.last(), Some(&(key(7), Decline::Replaced)));
        assert!(std::fs::metadata(path_in(folder.path())).unwrap().len() < MOST_BYTES);
    }
}
