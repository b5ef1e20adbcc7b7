//! The tries of one length.

use std::collections::VecDeque;

use units::{Duration, Instant};

/// Tries before a length counts as one that does not pass (RFC 8899 §5.1.2, `MAX_PROBES`).
const TRIES: u8 = 3;
/// How much is learned late: a short packet may overtake a long one on a hop that keeps no order.
const OVERTAKING_MOST: Duration = Duration::from_millis(100);
const OVERTAKING_LEAST: Duration = Duration::from_millis(2);
/// After so long a try that brought nothing at all is repeated, at the latest.
const REST_MOST: Duration = Duration::from_secs(1);
/// How long after a round trip, and more, a try is given up of which nothing was heard: what it waits for may stand in
/// a queue.
const LATE: Duration = Duration::from_millis(250);

/// What is known of the times of the hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) smoothed: Duration,
    pub(crate) patience: Duration,
}

impl Timing {
    fn overtaking(&self) -> Duration {
        (self.smoothed / 4).clamp(OVERTAKING_LEAST, OVERTAKING_MOST)
    }

    fn give_up(&self) -> Duration {
        self.patience * 2 + LATE
    }
}

/// A long packet and the short one behind it.
#[derive(Debug, Clone, Copy)]
struct Pair {
    number: u64,
    sent_at: Instant,
    /// When the short one was heard of.
    short_at: Option<Instant>,
}

/// What a round has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Open,
    Passes,
    Fails,
}

/// The tries of one length.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) length: usize,
    pub(crate) begun_at: Instant,
    lost: u8,
    pairs: VecDeque<Pair>,
    /// So many more are to be sent.
    due: u8,
    /// The next not before then.
    next_at: Instant,
    in_vain: u32,
}

impl Round {
    /// A round that begins with one try: most lengths that are tried pass.
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

    /// A round that begins with all tries: something speaks against the length.
    pub(crate) fn doubtful(length: usize, at: Instant) -> Self {
        Self {
            due: TRIES,
            ..Self::hopeful(length, at)
        }
    }

    /// When the next try may be sent, if one is due.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        (self.due > 0).then_some(self.next_at)
    }

    /// A try has left under this number; the next one may follow after `spacing`.
    pub(crate) fn sent(&mut self, now: Instant, number: u64, spacing: Duration) {
        self.due = self.due.saturating_sub(1);
        self.next_at = now + spacing;
        self.pairs.push_back(Pair {
            number,
            sent_at: now,
            short_at: None,
        });
    }

    /// A packet has arrived; says whether the length passes.
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

    /// Judges the tries whose time has come. `lost` gets the numbers of those that were.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        timing: &Timing,
        mut lost: impl FnMut(u64),
    ) -> Verdict {
        let mut vain = 0;
        let losses = &mut self.lost;
        self.pairs.retain(|pair| {
            let ends = ends(pair, timing);
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

    /// When [`judge`](Self::judge) has something to do.
    pub(crate) fn due_at(&self, timing: &Timing) -> Option<Instant> {
        self.pairs.iter().map(|pair| ends(pair, timing)).min()
    }

    /// The numbers that are waited for.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let short = |pair: &Pair| pair.short_at.is_none().then_some(pair.number + 1);
        let pairs = self.pairs.iter();
        pairs.flat_map(move |pair| [Some(pair.number), short(pair)].into_iter().flatten())
    }
}

/// When a pair is judged by what is known now.
fn ends(pair: &Pair, timing: &Timing) -> Instant {
    match pair.short_at {
        Some(at) => at + timing.overtaking(),
        None => pair.sent_at + timing.give_up(),
    }
}
