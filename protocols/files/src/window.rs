//! How many blocks are on their way at once.

use units::Duration;

use crate::Window;

/// What it starts with, and has at least.
const LEAST: u64 = 4;
/// The most; calls that are no blocks find room beside them.
const MOST: u64 = 224;
/// Blocks that may wait in the way of others: fewer, and the way is not full; more, and they only wait.
const WAITING_LEAST: u64 = 2;
const WAITING_MOST: u64 = 6;

/// Counts blocks on their way, and how many there may be. `auto` finds that as Vegas does (Brakmo et al. 1994): from
/// how long blocks take to how long they would take alone it reckons how many of them only wait for others.
#[derive(Debug, Clone)]
pub(crate) struct BlockWindow {
    rule: Window,
    in_flight: u64,
    limit: u64,
    /// How long a block takes that waits for none, by the fastest in two periods.
    fastest: [Option<Duration>; 2],
    /// Of this round: answers, and the fastest.
    answers: u64,
    of_round: Option<Duration>,
    rounds: u64,
    starting: bool,
}

/// A block that takes no longer is fast.
const FAST: Duration = Duration::from_millis(20);

/// Rounds after which the fastest block of long ago is no measure any more: the way may be another.
const PERIOD: u64 = 256;

fn faster(one: Option<Duration>, other: Duration) -> Duration {
    one.map_or(other, |one| one.min(other))
}

impl BlockWindow {
    pub(crate) fn new(rule: Window) -> Self {
        Self {
            rule,
            in_flight: 0,
            limit: match rule {
                Window::Auto => LEAST,
                Window::Fixed(blocks) => blocks as u64,
            },
            fastest: [None; 2],
            answers: 0,
            of_round: None,
            rounds: 0,
            starting: true,
        }
    }

    /// How many blocks may be on their way.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether blocks that take so long wait for others: then larger ones bring no more, and take longer. What is fast
    /// for people is not looked at: there, calls cost more than bytes.
    pub(crate) fn is_crowded(&self, time: Duration) -> bool {
        let alone = self.fastest.iter().flatten().min().copied();
        time > FAST && alone.is_some_and(|alone| time > alone * 2)
    }

    /// Whether there is room for another block.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight < self.limit
    }

    /// A block was sent.
    pub(crate) fn sent(&mut self) {
        self.in_flight += 1;
    }

    /// A block is no longer on its way; if it was answered at first asking, after how long.
    pub(crate) fn ended(&mut self, round_trip: Option<Duration>) {
        let was_full = self.in_flight >= self.limit;
        self.in_flight -= 1;
        if self.rule != Window::Auto {
            return;
        }
        if let Some(span) = round_trip {
            self.fastest[0] = Some(faster(self.fastest[0], span));
            self.of_round = Some(faster(self.of_round, span));
        }
        self.answers += 1;
        if self.answers >= self.limit {
            self.end_round(was_full);
        }
    }

    /// As many answers as there may be blocks on their way: time to judge.
    fn end_round(&mut self, was_full: bool) {
        self.answers = 0;
        self.rounds += 1;
        let base = self.fastest.iter().flatten().min().copied();
        if let (Some(base), Some(now)) = (base, self.of_round.take()) {
            let waiting = self.limit - self.limit * base.as_nanos() / now.as_nanos().max(1);
            if waiting > WAITING_MOST {
                self.starting = false;
                self.limit -= 1;
            } else if waiting < WAITING_LEAST && was_full {
                self.limit += if self.starting { self.limit } else { 1 };
            } else if was_full {
                self.starting = false;
            }
            self.limit = self.limit.clamp(LEAST, MOST);
        }
        if self.rounds >= PERIOD {
            self.rounds = 0;
            self.fastest = [None, self.fastest[0]];
        }
    }
}
