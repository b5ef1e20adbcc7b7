//! The limit of lines of one kind.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::format::Format;

/// Number of lines of one kind in one interval; more are counted.
const LINES: u32 = 20;
const INTERVAL: Duration = Duration::from_mins(1);
/// Largest number of kinds that are told apart; all others are one kind.
const KINDS: usize = 1_024;
const OTHERS: u64 = 0;

/// The lines of each kind in its present interval.
pub(super) struct Repeats {
    kinds: BTreeMap<u64, Seen>,
    /// Time at which the next interval ends.
    next_end: Option<Instant>,
}

/// The lines of one kind.
struct Seen {
    until: Instant,
    lines: u32,
    /// Number of lines that were not written, and the last of them.
    more: u64,
    last: String,
}

/// Lines of one kind that were not written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    more: u64,
    last: String,
}

/// The answer to a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Admitted<'a> {
    /// Lines for intervals that have ended.
    pub(super) ended: Vec<LeftOut>,
    /// The line itself, if it is to be written.
    pub(super) line: Option<&'a str>,
}

impl Repeats {
    /// Returns a limit that has seen nothing.
    pub(super) const fn new() -> Self {
        Self {
            kinds: BTreeMap::new(),
            next_end: None,
        }
    }

    /// Counts a line of this kind.
    pub(super) fn admit<'a>(&mut self, now: Instant, kind: u64, line: &'a str) -> Admitted<'a> {
        let ended = self.end(now);
        let is_told_apart = self.kinds.contains_key(&kind) || self.kinds.len() < KINDS;
        let seen = self
            .kinds
            .entry(if is_told_apart { kind } else { OTHERS })
            .or_insert_with(|| Seen {
                until: now + INTERVAL,
                lines: 0,
                more: 0,
                last: String::new(),
            });
        self.next_end = Some(self.next_end.map_or(seen.until, |end| end.min(seen.until)));
        let line = if seen.lines < LINES {
            seen.lines += 1;
            Some(line)
        } else {
            seen.more += 1;
            line.clone_into(&mut seen.last);
            None
        };
        Admitted { ended, line }
    }

    /// Returns what remains to be said of all kinds.
    pub(super) fn finish(&mut self) -> Vec<LeftOut> {
        std::mem::take(&mut self.kinds)
            .into_values()
            .filter_map(Seen::left_out)
            .collect()
    }

    /// Ends the intervals that are over.
    fn end(&mut self, now: Instant) -> Vec<LeftOut> {
        if self.next_end.is_none_or(|end| now < end) {
            return Vec::new();
        }
        let over: Vec<_> = self
            .kinds
            .extract_if(.., |_, seen| seen.until <= now)
            .collect();
        self.next_end = self.kinds.values().map(|seen| seen.until).min();
        let over = over.into_iter();
        over.filter_map(|(_, seen)| seen.left_out()).collect()
    }
}

impl Seen {
    /// Returns the lines that were not written, if there are any.
    fn left_out(self) -> Option<LeftOut> {
        let (more, last) = (self.more, self.last);
        (more > 0).then_some(LeftOut { more, last })
    }
}

impl LeftOut {
    /// Returns the line about them.
    pub(super) fn words(&self, format: Format) -> String {
        format.left_out(self.more, &self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_kind_are_limited_and_the_others_are_not() {
        let (mut repeats, start) = (Repeats::new(), Instant::now());
        let written = (0..57).filter(|_| repeats.admit(start, 7, "it moved").line.is_some());
        assert_eq!(written.count(), 20);
        assert_eq!(repeats.admit(start, 8, "another").line, Some("another"));
        let later = start + INTERVAL;
        let admitted = repeats.admit(later, 7, "it moved again");
        assert_eq!(admitted.line, Some("it moved again"));
        let words = admitted.ended.iter().map(|line| line.words(Format::Text));
        assert_eq!(
            words.collect::<Vec<_>>(),
            ["and 37 more like it, the last one: it moved"]
        );
        assert!(repeats.finish().is_empty());
    }

    #[test]
    fn the_number_of_kinds_is_limited() {
        let (mut repeats, start) = (Repeats::new(), Instant::now());
        let lines = (1..=10_000).filter(|kind| repeats.admit(start, *kind, "x").line.is_some());
        assert_eq!(lines.count(), KINDS + LINES as usize);
        assert_eq!(repeats.kinds.len(), KINDS + 1);
        assert_eq!(repeats.finish().len(), 1);
    }
}
