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

/// The packet numbers of all sessions: none may be used for two contents (S5).
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Hash of the content, by process, receiver index and number.
    used: BTreeMap<(usize, [u8; 8]), u64>,
}

/// Time for which keys may serve.
const KEYS_LIVE: Duration = Duration::from_secs(180);
/// First byte of a data datagram. Receiver index and packet number follow it.
const DATA: u8 = 4;

impl Numbers {
    /// Checks the number of a datagram; the error is a sentence.
    pub(crate) fn check(&mut self, process: usize, bytes: &[u8]) -> Result<(), String> {
        let Some((&DATA, rest)) = bytes.split_first() else {
            return Ok(());
        };
        let Some((header, content)) = rest.split_first_chunk::<8>() else {
            return Ok(());
        };
        let mark = fnv1a(FNV_BASIS, content);
        match self.used.insert((process, *header), mark) {
            Some(before) if before != mark => Err(format!(
                "process {process} used a packet number twice, index and number {header:02x?}"
            )),
            _ => Ok(()),
        }
    }
}

/// The ages of all keys, from the first datagram under them on: none may serve for longer than three minutes (S7).
#[derive(Debug, Default)]
pub(crate) struct Ages {
    /// Time of the first datagram, by process and receiver index.
    since: BTreeMap<(usize, [u8; 4]), Instant>,
}

impl Ages {
    /// Checks the keys of a datagram that is sent; the error is a sentence.
    pub(crate) fn check(
        &mut self,
        now: Instant,
        process: usize,
        bytes: &[u8],
    ) -> Result<(), String> {
        let Some((&DATA, rest)) = bytes.split_first() else {
            return Ok(());
        };
        let Some(index) = rest.first_chunk::<4>() else {
            return Ok(());
        };
        let age = now.since(*self.since.entry((process, *index)).or_insert(now));
        if age > KEYS_LIVE {
            return Err(format!("process {process} used keys that are {age} old"));
        }
        Ok(())
    }
}
