//! A round: the tries of one length.

use std::collections::VecDeque;

use units::{Duration, Instant};

/// Number of tries after which a length counts as too long (RFC 8899 §5.1.2, `MAX_PROBES`).
const TRIES: u8 = 3;
/// Limits of the time by which a short packet may overtake a long one, on a hop that does not keep the order.
const OVERTAKING_MOST: Duration = Duration::from_millis(100);
const OVERTAKING_LEAST: Duration = Duration::from_millis(2);
/// Longest wait before a try without any result is repeated.
const REST_MOST: Duration = Duration::from_secs(1);
/// Most doublings of the time for which an acknowledgement is awaited.
const DOUBLINGS: u32 = 3;
/// Time beyond a round trip after which a try without any acknowledgement is given up: its acknowledgement may stand
/// in a queue.
const LATE: Duration = Duration::from_millis(250);

/// Round-trip time and timeout of the hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) smoothed: Duration,
    pub(crate) patience: Duration,
}

impl Timing {
    fn overtaking(&self) -> Duration {
        (self.smoothed / 4).clamp(OVERTAKING_LEAST, OVERTAKING_MOST)
    }

    /// Returns the time for which any acknowledgement is awaited after so many tries `in_vain`. It doubles with each
    /// (RFC 6298 §5.5): the hop may have become slower than the measured round trips, and nothing but a try may cross.
    fn give_up(&self, in_vain: u32) -> Duration {
        (self.patience * 2 + LATE) * (1 << in_vain.min(DOUBLINGS))
    }
}

/// A long packet and the short one behind it.
#[derive(Debug, Clone, Copy)]
struct Pair {
    number: u64,
    sent_at: Instant,
    /// Time at which the arrival of the short one was reported.
    short_at: Option<Instant>,
}

/// Result of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Open,
    Passes,
    Fails,
}

/// State of the tries of one length.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) length: usize,
    pub(crate) begun_at: Instant,
    lost: u8,
    pairs: VecDeque<Pair>,
    /// Number of tries that are still to be sent.
    due: u8,
    /// Earliest time of the next one.
    next_at: Instant,
    in_vain: u32,
}

impl Round {
    /// Returns a round that begins with one try: most lengths that are tried pass.
    pub(crate) fn hopeful(length: usize, at: Instant) -> Self {
        Self {
            length,
            begun_at: at,
            lost: 0,
            pairs: VecDeque::new(),
            due: 1,
            next_at: at,
            in_vain: 0,
        }
    }

    /// Returns a round that begins with all tries, for a length with evidence against it.
    pub(crate) fn doubtful(length: usize, at: Instant) -> Self {
        Self {
            due: TRIES,
            ..Self::hopeful(length, at)
        }
    }

    /// Returns the time at which the next try may be sent, if one is due.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        (self.due > 0).then_some(self.next_at)
    }

    /// Notes a try sent under this number; the next one may follow after `spacing`.
    pub(crate) fn sent(&mut self, now: Instant, number: u64, spacing: Duration) {
        self.due = self.due.saturating_sub(1);
        self.next_at = now + spacing;
        self.pairs.push_back(Pair {
            number,
            sent_at: now,
            short_at: None,
        });
    }

    /// Notes that a packet has arrived. Returns the result for the length.
    pub(crate) fn arrived(&mut self, now: Instant, number: u64) -> Verdict {
        for pair in &mut self.pairs {
            if pair.number == number {
                return Verdict::Passes;
            }
            if pair.number + 1 == number {
                pair.short_at.get_or_insert(now);
            }
        }
        Verdict::Open
    }

    /// Judges the tries whose time has come, and passes the numbers of the lost ones to `lost`.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        timing: &Timing,
        mut lost: impl FnMut(u64),
    ) -> Verdict {
        let mut vain = 0;
        let (losses, in_vain) = (&mut self.lost, self.in_vain);
        self.pairs.retain(|pair| {
            let ends = ends(pair, timing, in_vain);
            if ends > now {
                return true;
            }
            if pair.short_at.is_some() {
                *losses += 1;
                lost(pair.number);
            } else {
                vain += 1;
            }
            false
        });
        if self.lost >= TRIES {
            return Verdict::Fails;
        }
        if vain > 0 {
            let rest = (timing.patience * (1 << self.in_vain.min(6))).min(REST_MOST);
            self.in_vain += 1;
            self.next_at = self.next_at.max(now + rest);
        }
        if self.pairs.is_empty() && self.due == 0 {
            self.due = if self.lost == 0 { 1 } else { TRIES - self.lost };
        }
        Verdict::Open
    }

    /// Returns the time at which [`judge`](Self::judge) is next due.
    pub(crate) fn due_at(&self, timing: &Timing) -> Option<Instant> {
        let ends = |pair| ends(pair, timing, self.in_vain);
        self.pairs.iter().map(ends).min()
    }

    /// Returns the numbers of packets whose arrival is awaited.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let short = |pair: &Pair| pair.short_at.is_none().then_some(pair.number + 1);
        let pairs = self.pairs.iter();
        pairs.flat_map(move |pair| [Some(pair.number), short(pair)].into_iter().flatten())
    }
}

/// Returns the time at which a pair is judged after so many tries `in_vain`, as far as is known now.
fn ends(pair: &Pair, timing: &Timing, in_vain: u32) -> Instant {
    match pair.short_at {
        Some(at) => at + timing.overtaking(),
        None => pair.sent_at + timing.give_up(in_vain),
    }
}
