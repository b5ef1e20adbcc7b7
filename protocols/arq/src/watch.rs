//! What must not wait for news of its loss: small contents of sparse flows, sent again and again
//! until they are confirmed.

use std::collections::VecDeque;

use machine::TokenDebt;
use units::{BitRate, Bytes, Duration, Instant};

use crate::ledger::Content;

/// Contents watched at a time; those beyond it are repaired like all others.
const MOST: usize = 1_024;
/// How long after one transmission an early one follows: longer than a collision or a slot, shorter
/// than a round trip.
const SPACED: Duration = Duration::from_millis(9);
/// What is due within this time is done together, so that a dense flow of small contents costs few calls.
const TOGETHER: Duration = Duration::from_millis(2);
/// Overdue repeats take at most this part of the air.
const SHARE: u64 = 16;
/// What second transmissions may cost: a fast flow's beginning, but no large part of the air for long.
const SECOND: Limit = Limit {
    share: 16,
    time: Duration::from_millis(100),
    least: 32_000,
};
/// What early repeats beyond the second transmission may cost.
const FURTHER: Limit = Limit {
    share: 400,
    time: Duration::ZERO,
    least: 4_000,
};
/// What a content costs beyond its own bytes.
const OVERHEAD: u64 = 16;

/// How contents are sent again without news of their loss.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern {
    /// Single losses are common and a repair takes long: what leaves is sent a second time.
    pub(crate) twice: bool,
    /// There have been fades of late: what leaves is sent again and again, as far as it costs little.
    pub(crate) fading: bool,
    /// How long a confirmation takes.
    pub(crate) expected: Duration,
    /// How soon the next repeat follows once it is overdue.
    pub(crate) interval: Duration,
    /// On a hop that holds what waits in it, when something was heard last: what left before is not late yet.
    pub(crate) heard: Option<Instant>,
    /// In a silence copies would wait behind what they are copies of: whoever presumes losses sends a few.
    pub(crate) sparing: bool,
    /// What the hop carries, if that is known.
    pub(crate) rate: Option<BitRate>,
    /// A stream of fewer bytes is young.
    pub(crate) young: u64,
}

impl Pattern {
    /// When the confirmation of what left then is overdue.
    fn overdue_from(&self, sent_at: Instant) -> Instant {
        self.heard.map_or(sent_at, |heard| heard.max(sent_at)) + self.expected
    }

    /// Until when nothing that is overdue is repeated.
    fn rests_until(&self) -> Instant {
        self.heard
            .map_or(Instant::ZERO, |heard| heard + self.expected)
    }
}

/// One content.
#[derive(Debug)]
struct Watched {
    sent_at: Instant,
    content: Content,
    /// Whether it has been sent a second time.
    repeated: bool,
    /// Whether its repeats go on until it is confirmed.
    persistent: bool,
}

/// The contents watched.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Those that are to be sent again early, and when.
    early: VecDeque<(Instant, Watched)>,
    /// Those whose confirmation is expected.
    expected: VecDeque<Watched>,
    /// Those whose confirmation is overdue; all are repeated together.
    overdue: Vec<Watched>,
    next_repeat: Instant,
    second: TokenDebt,
    further: TokenDebt,
}

/// How much of the air something may take.
#[derive(Debug, Clone, Copy)]
struct Limit {
    /// One part in so many in the long run.
    share: u64,
    /// All of it for so long after a rest.
    time: Duration,
    /// Bytes after a rest, however slow the hop.
    least: u64,
}

impl Limit {
    /// Takes `bytes`, on a hop of this rate, if it lets them pass.
    fn take(self, debt: &mut TokenDebt, now: Instant, rate: Option<BitRate>, bytes: u64) -> bool {
        let carried = |span| rate.map_or(0, |rate| rate.bytes_in(span).get());
        let burst = carried(self.time).max(self.least);
        debt.take(now, bytes, burst, |span| carried(span) / self.share)
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            early: VecDeque::new(),
            expected: VecDeque::new(),
            overdue: Vec::new(),
            next_repeat: Instant::ZERO,
            second: TokenDebt::default(),
            further: TokenDebt::default(),
        }
    }
}

impl Watch {
    /// Watches over `content`, which leaves now: for one repeat, or, `persistent`, for as many as it takes.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        content: Content,
        pattern: Pattern,
        persistent: bool,
    ) {
        if self.early.len() + self.expected.len() + self.overdue.len() >= MOST {
            return;
        }
        let early = pattern.twice || (pattern.fading && persistent);
        let watched = Watched {
            sent_at: now,
            content,
            repeated: false,
            persistent,
        };
        if early {
            self.early.push_back((now + SPACED, watched));
        } else if persistent {
            self.expected.push_back(watched);
        }
    }

    /// Bytes that it holds.
    pub(crate) fn memory(&self) -> usize {
        let early = self.early.capacity() * size_of::<(Instant, Watched)>();
        early + (self.expected.capacity() + self.overdue.capacity()) * size_of::<Watched>()
    }

    /// When [`Self::due`] has something to do.
    pub(crate) fn next_due(&self, pattern: Pattern) -> Option<Instant> {
        let early = self.early.front().map(|(due, _)| *due);
        let expected = self.expected.front();
        let expected = expected.map(|first| pattern.overdue_from(first.sent_at));
        let repeats = !self.overdue.is_empty() && !pattern.sparing;
        let overdue = repeats.then(|| self.next_repeat.max(pattern.rests_until()));
        machine::earlier(early, machine::earlier(expected, overdue))
    }

    /// Hands `repeat` what is to be sent again now; it says whether the content still needs that.
    pub(crate) fn due(
        &mut self,
        now: Instant,
        pattern: Pattern,
        mut repeat: impl FnMut(&Content) -> bool,
    ) {
        let soon = now + TOGETHER;
        if self.early.front().is_some_and(|(due, _)| *due <= now) {
            while let Some((_, watched)) = self.early.pop_front_if(|(due, _)| *due <= soon) {
                self.repeat_early(now, pattern, watched, &mut repeat);
            }
        }
        let is_late = |first: &Watched, by| pattern.overdue_from(first.sent_at) <= by;
        let any = self
            .expected
            .front()
            .is_some_and(|first| is_late(first, now));
        while let Some(late) = self
            .expected
            .pop_front_if(|first| any && is_late(first, soon))
        {
            // All that is overdue is repeated at once, this one with it.
            if self.overdue.is_empty() {
                self.next_repeat = now;
            }
            self.overdue.push(late);
        }
        let rests = now < self.next_repeat.max(pattern.rests_until());
        if self.overdue.is_empty() || pattern.sparing || rests {
            return;
        }
        self.overdue.retain(|late| repeat(&late.content));
        let bytes: u64 = self.overdue.iter().map(|late| late.content.len()).sum();
        let cost = Bytes::new(bytes * SHARE);
        let affordable = pattern
            .rate
            .map_or(Duration::ZERO, |rate| rate.time_for(cost));
        self.next_repeat = now + pattern.interval.max(affordable);
    }

    fn repeat_early(
        &mut self,
        now: Instant,
        pattern: Pattern,
        mut watched: Watched,
        repeat: &mut impl FnMut(&Content) -> bool,
    ) {
        let second = pattern.twice && !watched.repeated;
        let (limit, taken) = if second {
            (SECOND, &mut self.second)
        } else {
            (FURTHER, &mut self.further)
        };
        // Sparse flows are held to their own rate already, and a hop whose rate is still unknown is not full.
        let free = second && (watched.persistent || pattern.rate.is_none());
        let cost = watched.content.len() + OVERHEAD;
        if free || limit.take(taken, now, pattern.rate, cost) {
            if !repeat(&watched.content) {
                return;
            }
            watched.repeated = true;
        }
        let overdue = pattern.overdue_from(watched.sent_at);
        if pattern.fading && watched.persistent && now + SPACED < overdue {
            self.early.push_back((now + SPACED, watched));
        } else if watched.persistent {
            self.expected.push_back(watched);
        }
    }
}
