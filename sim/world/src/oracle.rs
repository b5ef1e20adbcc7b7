//! The promises that a run checks.

use machine::{FNV_BASIS, fnv1a};
use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;
use units::{Duration, Instant};

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Violation {
    /// Promise, by its number in `docs/promises.md`.
    pub promise: &'static str,
    /// Time at which it was noticed; zero for a panic.
    pub at: Instant,
    /// What happened.
    pub text: String,
}

impl Violation {
    pub(crate) fn new(promise: &'static str, at: Instant, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { promise, at, text }
    }

    /// Returns true if the other violation is of the same kind: the same words, whatever the numbers in them.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let words = |violation: &Self| -> String {
            let letters = violation.text.chars().filter(|letter| !letter.is_numeric());
            letters.take(40).collect()
        };
        self.promise == other.promise && words(self) == words(other)
    }

    pub(crate) fn panic(text: &str) -> Self {
        Self::new("S11", Instant::ZERO, format!("a panic: {text}"))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { promise, at, text } = self;
        write!(
            formatter,
            "{promise} is broken at {}: {text}",
            at.since_origin()
        )
    }
}

/// Time for which keys may serve.
const KEYS_LIVE: Duration = Duration::from_secs(180);
/// First byte of a data datagram. Receiver index and packet number follow it.
const DATA: u8 = 4;

/// The keys of all sessions: no packet number may serve for two contents (S5), and no keys for longer than three
/// minutes (S7).
///
/// A datagram does not show its keys, only their receiver index. A host draws the index of new keys at random, so over
/// days it may draw the one of keys that are long gone (seed 186). New keys number their packets from zero, so lower
/// numbers after the three minutes belong to new keys, and higher ones to keys that are too old.
#[derive(Debug, Default)]
pub(crate) struct Keys(BTreeMap<(usize, [u8; 4]), Uses>);

/// The uses of one process's keys with a receiver index.
#[derive(Debug)]
struct Uses {
    /// Time of the first datagram.
    since: Instant,
    /// Hash of each content, by packet number.
    contents: BTreeMap<u32, u64>,
}

impl Keys {
    /// Checks a datagram that is sent; the error is a promise and a sentence.
    pub(crate) fn check(
        &mut self,
        now: Instant,
        process: usize,
        bytes: &[u8],
    ) -> Result<(), (&'static str, String)> {
        let Some((&DATA, rest)) = bytes.split_first() else {
            return Ok(());
        };
        let Some((index, rest)) = rest.split_first_chunk::<4>() else {
            return Ok(());
        };
        let Some((number, content)) = rest.split_first_chunk::<4>() else {
            return Ok(());
        };
        let number = u32::from_le_bytes(*number);
        let first = || Uses {
            since: now,
            contents: BTreeMap::new(),
        };
        let uses = self.0.entry((process, *index)).or_insert_with(first);
        let age = now.since(uses.since);
        if age > KEYS_LIVE {
            let highest = uses.contents.last_key_value();
            if highest.is_some_and(|(highest, _)| number > *highest) {
                let text = format!("process {process} used keys that are {age} old");
                return Err(("S7", text));
            }
            *uses = first();
        }
        let mark = fnv1a(FNV_BASIS, content);
        match uses.contents.insert(number, mark) {
            Some(before) if before != mark => Err((
                "S5",
                format!("process {process} used packet number {number} twice, index {index:02x?}"),
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the promise that a last datagram breaks, after others of keys with one index: each has a time in
    /// seconds, a packet number, and a content.
    fn broken(datagrams: &[(u64, u32, u8)]) -> Option<&'static str> {
        let mut keys = Keys::default();
        let results = datagrams.iter().map(|(seconds, number, content)| {
            let mut bytes = vec![DATA, 7, 7, 7, 7];
            bytes.extend(number.to_le_bytes());
            bytes.push(*content);
            let now = Instant::ZERO + Duration::from_secs(*seconds);
            keys.check(now, 0, &bytes).err().map(|(promise, _)| promise)
        });
        results.last().flatten()
    }

    #[test]
    fn a_number_serves_once_and_keys_for_three_minutes() {
        let cases = [
            (vec![(0, 0, 1), (180, 1, 2)], None),
            // A copy to a second address.
            (vec![(0, 0, 1), (0, 0, 1)], None),
            (vec![(0, 0, 1), (180, 0, 2)], Some("S5")),
            (vec![(0, 0, 1), (181, 1, 2)], Some("S7")),
            (vec![(0, 0, 1), (90_000, 1, 2)], Some("S7")),
            // New keys with the index of some that are long gone.
            (vec![(0, 0, 1), (1, 1, 1), (90_000, 0, 2)], None),
        ];
        for (datagrams, expected) in cases {
            assert_eq!(broken(&datagrams), expected, "{datagrams:?}");
        }
    }
}
