//! The early retransmissions: small contents of sparse flows are sent again and again until they are confirmed.

use std::collections::VecDeque;

use machine::TokenDebt;
use units::{BitRate, Bytes, Duration, Instant};

use crate::ledger::Content;

/// Most contents watched at a time; others are repaired in the usual way.
const MOST: usize = 1_024;
/// Time between two early transmissions: longer than a collision or a slot, shorter than a round trip.
const SPACED: Duration = Duration::from_millis(9);
/// Time within which due contents are handled together, so that a dense flow of small contents costs few calls.
const TOGETHER: Duration = Duration::from_millis(2);
/// Divisor of the air for overdue repeats: they take at most this part of it.
const SHARE: u64 = 16;
/// Divisor of the time for which the oldest overdue content has waited: the time until the next repeats, while the rate
/// is not known. A hop on which a content takes longer than those before it gets a few copies of it and not a storm.
const BACK_OFF: u64 = 8;
/// Limit on second transmissions: enough for a fast flow's beginning, but no large part of the air for long.
const SECOND: Limit = Limit {
    share: 16,
    time: Duration::from_millis(100),
    least: 32_000,
};
/// Limit on early repeats beyond the second transmission.
const FURTHER: Limit = Limit {
    share: 400,
    time: Duration::ZERO,
    least: 4_000,
};
/// Bytes that a content costs beyond its own.
const OVERHEAD: u64 = 16;

/// Parameters of early retransmissions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern {
    /// True if isolated losses are common and a repair takes long: contents are sent a second time.
    pub(crate) twice: bool,
    /// True if there have been fades recently: contents are sent again and again, as far as it costs little.
    pub(crate) fading: bool,
    /// Time until a confirmation is expected.
    pub(crate) expected: Duration,
    /// Time between repeats once a confirmation is overdue.
    pub(crate) interval: Duration,
    /// Time of the last acknowledgement, on a hop that holds frames in a silence: contents that left before are not
    /// late yet.
    pub(crate) heard: Option<Instant>,
    /// True if copies in a silence would queue behind their originals: the presumption of losses sends a few.
    pub(crate) sparing: bool,
    /// Rate of the hop, if it is known.
    pub(crate) rate: Option<BitRate>,
    /// Bytes below which a stream is young.
    pub(crate) young: u64,
}

impl Pattern {
    /// Returns the time when the confirmation of a content that left at `sent_at` is overdue.
    fn overdue_from(&self, sent_at: Instant) -> Instant {
        self.heard.map_or(sent_at, |heard| heard.max(sent_at)) + self.expected
    }

    /// Returns the time until which nothing overdue is repeated.
    fn rests_until(&self) -> Instant {
        self.heard
            .map_or(Instant::ZERO, |heard| heard + self.expected)
    }
}

/// A watched content.
#[derive(Debug)]
struct Watched {
    sent_at: Instant,
    content: Content,
    /// True if it has been sent a second time.
    repeated: bool,
    /// True if its repeats go on until it is confirmed.
    persistent: bool,
}

/// The watched contents.
#[derive(Debug)]
pub(crate) struct EarlyRepairs {
    /// Contents to repeat early, and the times.
    early: VecDeque<(Instant, Watched)>,
    /// Contents whose confirmation is expected.
    expected: VecDeque<Watched>,
    /// Contents whose confirmation is overdue; all are repeated together.
    overdue: Vec<Watched>,
    next_repeat: Instant,
    /// Time until which the air for early repeats is promised to those that wait for it.
    promised_until: Instant,
    second: TokenDebt,
    further: TokenDebt,
}

/// Limit on a share of the air.
#[derive(Debug, Clone, Copy)]
struct Limit {
    /// Divisor of the air in the long run.
    share: u64,
    /// Time for which all of the air may be taken after a rest.
    time: Duration,
    /// Bytes that may be taken after a rest, however slow the hop.
    least: u64,
}

impl Limit {
    /// Takes `bytes` on a hop of this rate; returns false if the limit does not allow it.
    fn take(self, debt: &mut TokenDebt, now: Instant, rate: Option<BitRate>, bytes: u64) -> bool {
        let carried = |span| rate.map_or(0, |rate| rate.bytes_in(span).get());
        let burst = carried(self.time).max(self.least);
        debt.take(now, bytes, burst, |span| carried(span) / self.share)
    }

    /// Returns the time from which the limit allows `bytes`; `None` if it never does at this rate.
    fn allows_from(self, debt: &TokenDebt, rate: Option<BitRate>, bytes: u64) -> Option<Instant> {
        let burst = rate.map_or(0, |rate| rate.bytes_in(self.time).get());
        debt.holds_from(bytes, burst.max(self.least), |missing| {
            rate.map(|rate| rate.time_for(Bytes::new(missing.saturating_mul(self.share))))
        })
    }
}

impl Default for EarlyRepairs {
    fn default() -> Self {
        Self {
            early: VecDeque::new(),
            expected: VecDeque::new(),
            overdue: Vec::new(),
            next_repeat: Instant::ZERO,
            promised_until: Instant::ZERO,
            second: TokenDebt::default(),
            further: TokenDebt::default(),
        }
    }
}

impl EarlyRepairs {
    /// Adds `content`, which leaves now: for one repeat, or, if `persistent`, for repeats until it is confirmed.
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
            self.repeat_at(now + SPACED, watched);
        } else if persistent {
            self.expected.push_back(watched);
        }
    }

    /// Adds a content to those that are repeated early, which are in the order of their times.
    fn repeat_at(&mut self, at: Instant, watched: Watched) {
        let place = self.early.partition_point(|(due, _)| *due <= at);
        self.early.insert(place, (at, watched));
    }

    /// Returns true if no content is watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.early.is_empty() && self.expected.is_empty() && self.overdue.is_empty()
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        let early = self.early.capacity() * size_of::<(Instant, Watched)>();
        early + (self.expected.capacity() + self.overdue.capacity()) * size_of::<Watched>()
    }

    /// Returns the time when [`Self::due`] has something to do.
    pub(crate) fn next_due(&self, pattern: Pattern) -> Option<Instant> {
        let early = self.early.front().map(|(due, _)| *due);
        let expected = self.expected.front();
        let expected = expected.map(|first| pattern.overdue_from(first.sent_at));
        let repeats = !self.overdue.is_empty() && !pattern.sparing;
        let overdue = repeats.then(|| self.next_repeat.max(pattern.rests_until()));
        machine::earlier(early, machine::earlier(expected, overdue))
    }

    /// Passes to `repeat` each content to send again now; `repeat` returns true if the content still needs that.
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
            // All overdue contents are repeated at once, this one with them.
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
        let oldest = self.overdue.first().map_or(now, |late| late.sent_at);
        let backed_off = now.since(oldest) / BACK_OFF;
        let cost = Bytes::new(bytes * SHARE);
        let affordable = pattern.rate.map_or(backed_off, |rate| rate.time_for(cost));
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
        let (mut allowed, mut waits) = (Some(now), Duration::ZERO);
        if free || limit.take(taken, now, pattern.rate, cost) {
            if !repeat(&watched.content) {
                return;
            }
            watched.repeated = true;
        } else {
            // Behind the others that wait: each would wake this host when there is air for one of them.
            let from = limit.allows_from(taken, pattern.rate, cost);
            let others = !self.early.is_empty();
            allowed = from.map(|from| {
                if others {
                    from.max(self.promised_until)
                } else {
                    from
                }
            });
            let share = Bytes::new(cost * limit.share);
            waits = pattern.rate.map_or(waits, |rate| rate.time_for(share));
        }
        let overdue = pattern.overdue_from(watched.sent_at);
        let next = allowed.map(|allowed| allowed.max(now + SPACED));
        let next = next.filter(|next| pattern.fading && *next < overdue);
        if !watched.persistent {
            return;
        }
        match next {
            Some(next) => {
                if !waits.is_zero() {
                    self.promised_until = next + waits;
                }
                self.repeat_at(next, watched);
            }
            None => self.expected.push_back(watched),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many contents that may be repeated, while there is air for few of them.
    #[test]
    fn each_call_repeats_something() {
        let start = Instant::from_millis(1);
        let pattern = Pattern {
            twice: false,
            fading: true,
            expected: Duration::from_secs(30),
            interval: Duration::from_millis(4),
            heard: Some(start),
            sparing: true,
            rate: Some(BitRate::from_megabits(2)),
            young: 0,
        };
        let mut watch = EarlyRepairs::default();
        for place in 0..300 {
            let content = Content::Stream {
                slot: 0,
                flow: 0,
                range: place * 400..place * 400 + 300 + place,
                end: false,
                again: false,
            };
            watch.add(start, content, pattern, true);
        }
        let (mut calls, mut repeats) = (0, 0);
        let end = start + Duration::from_secs(10);
        while let Some(now) = watch.next_due(pattern).filter(|due| *due < end) {
            calls += 1;
            watch.due(now, pattern, |_| {
                repeats += 1;
                true
            });
        }
        assert!(repeats >= 15, "{repeats} repeats");
        assert!(calls <= repeats * 2, "{calls} calls for {repeats} repeats");
    }
}
