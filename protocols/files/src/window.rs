//! How many blocks are on their way at once.

use units::Duration;

use crate::Window;

/// What it starts with, and has at least unless answers are late.
const LEAST: u64 = 4;
/// The most; calls that are no blocks find room beside them.
const MOST: u64 = 224;
/// Blocks that may wait in the way of others: fewer, and the way is not full; more, and they only wait.
const WAITING_LEAST: u64 = 2;
const WAITING_MOST: u64 = 6;

/// How a block was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At first asking, after so long.
    AtFirst(Duration),
    /// So long after it was asked for again.
    Repeated(Duration),
}

/// Counts blocks on their way, and how many there may be. `auto` finds that as Vegas does (Brakmo et al. 1994): from
/// how long blocks take to how long they would take alone it reckons how many of them only wait for others.
///
/// Where no block of a round is answered before it is asked for again, that is not known. If an answer comes sooner
/// after the last asking than any block takes, it is a late one to an earlier asking: there are too many.
#[derive(Debug, Clone)]
pub(crate) struct BlockWindow {
    rule: Window,
    in_flight: u64,
    limit: u64,
    /// How long a block takes that waits for none, by the fastest in two periods.
    fastest: [Option<Duration>; 2],
    /// Of this round: answers, the fastest of those at first asking, and whether one was late.
    answers: u64,
    of_round: Option<Duration>,
    late: bool,
    rounds: u64,
    starting: bool,
    /// Answers of this round are to blocks that were sent when there were more or fewer.
    settling: bool,
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
            late: false,
            rounds: 0,
            starting: true,
            // The first blocks leave together, and the first of them waits for none.
            settling: true,
        }
    }

    /// How many blocks may be on their way.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether blocks that take so long wait for others: then larger ones bring no more, and take longer. What is fast
    /// for people is not looked at: there, calls cost more than bytes. One alone on its way waits for no other.
    pub(crate) fn is_crowded(&self, time: Duration) -> bool {
        let alone = self.alone();
        self.limit > 1 && time > FAST && alone.is_some_and(|alone| time > alone * 2)
    }

    /// How long a block takes that waits for none.
    fn alone(&self) -> Option<Duration> {
        self.fastest.iter().flatten().min().copied()
    }

    /// Whether there is room for another block.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight < self.limit
    }

    /// A block was sent.
    pub(crate) fn sent(&mut self) {
        self.in_flight += 1;
    }

    /// A block is no longer on its way; if it was answered, how.
    pub(crate) fn ended(&mut self, pace: Option<Pace>) {
        let was_full = self.in_flight >= self.limit;
        self.in_flight -= 1;
        match pace {
            Some(Pace::AtFirst(span)) => {
                self.fastest[0] = Some(faster(self.fastest[0], span));
                self.of_round = Some(faster(self.of_round, span));
            }
            Some(Pace::Repeated(span)) => {
                self.late |= self.alone().is_some_and(|alone| span < alone);
            }
            None => {}
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
        let (fastest, late) = (self.of_round.take(), std::mem::take(&mut self.late));
        if self.rule == Window::Auto && !std::mem::take(&mut self.settling) {
            let before = self.limit;
            match fastest {
                Some(fastest) => self.judge(fastest, was_full),
                None if late => self.limit = (self.limit / 2).max(1),
                None => {}
            }
            self.settling = self.limit != before;
        }
        if self.rounds >= PERIOD {
            self.rounds = 0;
            self.fastest = [None, self.fastest[0]];
        }
    }

    /// Sets the window by how long the fastest block of a round took.
    fn judge(&mut self, fastest: Duration, was_full: bool) {
        let Some(alone) = self.alone() else {
            return;
        };
        let enough = if self.limit < LEAST { 1 } else { WAITING_LEAST };
        let waiting = self.limit - self.limit * alone.as_nanos() / fastest.as_nanos().max(1);
        if waiting > WAITING_MOST {
            self.starting = false;
            self.limit = (self.limit - 1).max(LEAST);
        } else if waiting < enough && was_full {
            self.limit += if self.starting { self.limit } else { 1 };
        } else if was_full {
            self.starting = false;
        }
        self.limit = self.limit.min(MOST);
    }
}
