//! What must not wait for news of its loss: small contents of sparse flows, sent again and again
//! until they are confirmed.

use std::collections::VecDeque;

use units::{BitRate, Bytes, Duration, Instant};

use crate::ledger::Content;

/// Contents watched at a time; those beyond it are repaired like all others.
const MOST: usize = 64;
/// How long after the first the second transmission follows where single losses are common: longer than a
/// collision or a slot, shorter than a round trip.
const SPACED: Duration = Duration::from_millis(8);
/// Repeats take at most this part of the air.
const SHARE: u64 = 4;

/// When contents are sent again without news of their loss.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern {
    /// Single losses are common and a repair takes long: everything watched is sent twice.
    pub(crate) twice: bool,
    /// How long a confirmation takes.
    pub(crate) expected: Duration,
    /// How soon the next repeat follows once it is overdue.
    pub(crate) interval: Duration,
}

/// One content, and when it is sent again.
#[derive(Debug)]
struct Watched {
    sent_at: Instant,
    content: Content,
    /// Whether its repeats go on until it is confirmed.
    persistent: bool,
}

/// The contents watched.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Sent for the first time a moment ago, each to be sent a second time.
    fresh: VecDeque<Watched>,
    /// Those whose confirmation is expected.
    expected: VecDeque<Watched>,
    /// Those whose confirmation is overdue, with the time of the next repeat of all.
    overdue: VecDeque<Watched>,
    next_repeat: Instant,
    /// Bytes of `overdue`.
    bytes: u64,
}

impl Watch {
    /// Watches over `content`, which leaves now: for one repeat, or, `persistent`, for as many as it takes.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        content: Content,
        (pattern, persistent): (Pattern, bool),
    ) {
        if self.fresh.len() + self.expected.len() + self.overdue.len() >= MOST {
            return;
        }
        let watched = Watched {
            sent_at: now,
            content,
            persistent,
        };
        if pattern.twice {
            self.fresh.push_back(watched);
        } else if persistent {
            self.expected.push_back(watched);
        }
    }

    /// When [`Self::due`] has something to say.
    pub(crate) fn next_due(&self, pattern: Pattern) -> Option<Instant> {
        let after = |list: &VecDeque<Watched>, wait| list.front().map(|first| first.sent_at + wait);
        let overdue = (!self.overdue.is_empty()).then_some(self.next_repeat);
        let first = machine::earlier(
            after(&self.fresh, SPACED),
            after(&self.expected, pattern.expected),
        );
        machine::earlier(first, overdue)
    }

    /// Hands `repeat` what is to be sent again now; it says whether the content still needs that.
    pub(crate) fn due(
        &mut self,
        now: Instant,
        pattern: Pattern,
        rate: Option<BitRate>,
        mut repeat: impl FnMut(&Content) -> bool,
    ) {
        while let Some(second) = take_due(&mut self.fresh, now, SPACED) {
            if repeat(&second.content) && second.persistent {
                self.expected.push_back(second);
            }
        }
        while let Some(late) = take_due(&mut self.expected, now, pattern.expected) {
            // All that is overdue is repeated at once, this one with it.
            if self.overdue.is_empty() {
                self.next_repeat = now;
            }
            self.bytes += late.content.len();
            self.overdue.push_back(late);
        }
        if self.overdue.is_empty() || now < self.next_repeat {
            return;
        }
        self.overdue.retain(|late| repeat(&late.content));
        self.bytes = self.overdue.iter().map(|late| late.content.len()).sum();
        let affordable = rate.map_or(Duration::ZERO, |rate| {
            rate.time_for(Bytes::new(self.bytes * SHARE))
        });
        self.next_repeat = now + pattern.interval.max(affordable);
    }
}

fn take_due(list: &mut VecDeque<Watched>, now: Instant, wait: Duration) -> Option<Watched> {
    let due = list
        .front()
        .is_some_and(|first| first.sent_at + wait <= now);
    if due { list.pop_front() } else { None }
}
